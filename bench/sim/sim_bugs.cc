// sim_bugs.cc: how many schedules it takes to find each of five bugs: see compare.py.
//
//     sim_bugs SEED [dpor]
//
// Prints one line per bug: its name, schedules, milliseconds.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <weft/sim/sim.h>

#include "bugs.h"

int main(int argc, char** argv) {
    struct bug {
        const char* name;
        void (*run)();
    };

    constexpr bug all[] = {{"lost_update", &bugs::lost_update},
                           {"inverted_locks", &bugs::inverted_locks},
                           {"lost_wakeup", &bugs::lost_wakeup},
                           {"notified_the_wrong_one", &bugs::notified_the_wrong_one},
                           {"barrier_without_phases", &bugs::barrier_without_phases}};
    const uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
    const bool all_orders = argc > 2 && std::strcmp(argv[2], "dpor") == 0;
    weft::sim::options with{.seed = seed, .schedules = 1'000'000, .shrink = false};
    if (all_orders) with.pick = weft::sim::strategy::dpor;
    for (const bug& b : all) {
        const auto began = std::chrono::steady_clock::now();
        const weft::sim::report r = weft::sim::explore(with, b.run);
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
        if (r) {
            std::printf("%s not_found\n", b.name);
        } else {
            std::printf("%s %llu %.3f\n", b.name, static_cast<unsigned long long>(r.schedules), took.count());
        }
    }
}
