// 42_simulation_in_c.c: a test in C that runs in many orders, with run_sim_explore.
//
// Two clerks book the last seat. Each looks whether it is free, and takes it in a second step. The
// simulation finds the order in which both get it, makes it short, and repeats it.
//
// Prints:
//     one lock: all 1000 schedules pass
//     two steps: does not hold: booked <= 1
//     the same order again: does not hold: booked <= 1
//
// needs: weft::sim
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <weft/run.h>
#include <weft/run/sim.h>

typedef struct office {
    run_mutex_t* lock;
    run_wait_group_t* clerks;
    bool in_two_steps;
    int free_seats;
    int booked;
} office_t;

static void book(void* of) {
    office_t* office = of;
    run_mutex_lock(office->lock);
    const bool is_free = office->free_seats > 0;
    if (office->in_two_steps) {  // wrong: another clerk may come in between
        run_mutex_unlock(office->lock);
        run_mutex_lock(office->lock);
    }
    if (is_free) {
        --office->free_seats;
        ++office->booked;
    }
    run_mutex_unlock(office->lock);
}

// Runs once for each schedule, so it makes everything that it needs.
static void sell_the_last_seat(void* in_two_steps) {
    office_t office = {NULL, NULL, in_two_steps != NULL, 1, 0};
    run_mutex_make(&office.lock);
    run_wait_group_make(&office.clerks);
    run_wait_group_go(office.clerks, book, &office);
    run_wait_group_go(office.clerks, book, &office);
    run_wait_group_wait(office.clerks);
    const int booked = office.booked;
    run_wait_group_free(office.clerks);
    run_mutex_free(office.lock);
    RUN_SIM_CHECK(booked <= 1);
}

// Without the place in the source.
static void print_reason(const char* what, const run_sim_report_t* found) {
    const char* reason = run_sim_reason(found);
    const char* place = strstr(reason, " (");
    printf("%s: %.*s\n", what, place == NULL ? (int)strlen(reason) : (int)(place - reason), reason);
}

int main(void) {
    run_sim_report_t* found;
    if (run_sim_explore(&found, NULL, sell_the_last_seat, NULL) == RUN_OK)
        printf("one lock: all %d schedules pass\n", (int)run_sim_schedules(found));
    run_sim_report_free(found);

    int in_two_steps = 1;
    if (run_sim_explore(&found, NULL, sell_the_last_seat, &in_two_steps) != RUN_FAILED) return 1;
    print_reason("two steps", found);

    run_sim_report_t* again;
    run_sim_replay(&again, run_sim_schedule(found), NULL, sell_the_last_seat, &in_two_steps);
    print_reason("the same order again", again);
    run_sim_report_free(again);
    run_sim_report_free(found);
    return 0;
}
