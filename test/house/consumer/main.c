// main.c: a foreign C program, built against weft from outside its tree.
#include <stdio.h>

#include <weft/run.h>

static void square(void* results) {
    for (int i = 1; i <= 100; ++i) {
        const int squared = i * i;
        run_chan_send(results, &squared);
    }
    run_chan_close(results);
}

int main(void) {
    int sum = 0;
    int squared;
    run_chan_t* results;
    if (run_scheduler_init() != RUN_OK || run_chan_make(&results, sizeof(int), 16) != RUN_OK) return 1;
    if (run_spawn(square, results) != RUN_OK) return 1;
    while (run_chan_recv(results, &squared) == RUN_OK) sum += squared;
    printf("the sum of the first hundred squares is %d\n", sum);
    return run_scheduler_stop() == RUN_OK && sum == 338350 ? 0 : 1;
}
