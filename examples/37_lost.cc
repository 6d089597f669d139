// 37_lost.cc: green threads that nothing can wake, found by what can reach them, and by a check of
// what a piece of work leaves behind. docs/leaks.md explains it.
//
// needs: weft::observe
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <weft/observe/leaks.h>
#include <weft/weft.h>

using namespace std::chrono_literals;

// Wrong: if the first answer is enough, nothing receives the others.
[[gnu::noinline]] void ask(int replica, const weft::chan<int>& answers) {
    weft::sleep_for(replica * 1ms);
    answers.send(replica);
}

int first_answer(int replicas) {
    const weft::chan<int> answers;
    for (int i = 0; i < replicas; ++i) weft::go({.name = "replica"}, [i, answers] { ask(i, answers); });
    return *answers.recv();
}

// Right: it waits, too, but its channel can be reached.
weft::chan<int> jobs;  // NOLINT(cert-err58-cpp)

void work() {
    for (const int job : jobs) std::printf("job %d\n", job);
}

int main() {
    return weft::main([] {
        weft::go({.name = "worker"}, [] { work(); });
        const weft::observe::leak_check check;
        for (int i = 0; i < 10; ++i) static_cast<void>(first_answer(3));
        weft::sleep_for(50ms);

        // What these calls have left behind.
        std::printf("%llu left behind\n", static_cast<unsigned long long>(check.left(0ms).count()));

        // What can never run again, in the whole program.
        const weft::observe::leak_report leaks = weft::observe::leaks();
        std::fputs(leaks.text().c_str(), stdout);
        std::fflush(stdout);
        ::_exit(EXIT_SUCCESS);  // they would wait for ever
    });
}
