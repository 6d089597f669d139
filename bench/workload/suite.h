// suite.h: every workload by name, over one runtime.
//
// A C++ peer is a struct that says how its library spells seven things; the work itself is written
// once, in this folder, so that no peer can do more or less of it than another:
//
//     peer(), version()                       who this is
//     run(p, body)                            runs body as a task on p scheduler threads; returns after it
//     go(f), yield()                          a detached task; give way to the others
//     go_child(f)                             the same, for a task whose parent is about to wait for it
//     spawn_and_join(f)                       a task, and wait for its end
//     wait_group                              add(n), done(), wait()
//     mutex                                   lock(), unlock()
//     make_unbuffered<T>(), make_buffered<T>(capacity)
//                                             handles that share a channel: send(v), recv(v&), close();
//                                             recv returns false when closed and drained
//     unbuffered<T>                           the type of the first
//
// A task must never outlive the objects it refers to: every workload joins what it starts, except
// skynet, whose tasks own what they touch.
#pragma once

#include <cstdio>
#include <exception>

#include "channel.h"
#include "classic.h"
#include "mutex.h"
#include "spawn.h"
#include "yield.h"

namespace bench {

template <typename Runtime>
struct workload {
    const char* name;
    measurement (*run)(const run_arguments&);
};

template <typename Runtime>
constexpr workload<Runtime> suite[] = {
    {"yield", run_yield<Runtime>},
    {"spawn_join", run_spawn_join<Runtime>},
    {"spawn_batch", run_spawn_batch<Runtime>},
    {"spawn_block", run_spawn_block<Runtime>},
    {"pingpong", run_pingpong<Runtime>},
    {"mpmc", run_mpmc<Runtime>},
    {"sieve", run_sieve<Runtime>},
    {"ring", run_ring<Runtime>},
    {"skynet", run_skynet<Runtime>},
    {"mutex", run_mutex<Runtime>},
};

template <typename Runtime>
int suite_main(int argc, char** argv) {
    const run_arguments arguments = parse_arguments(argc, argv);
    for (const workload<Runtime>& entry : suite<Runtime>) {
        if (arguments.workload != entry.name) continue;
        Runtime::run(arguments.p, [&] {
            for (int i = 0; i < arguments.reps; ++i) {
                entry.run(arguments).print(Runtime::peer(), Runtime::version(), arguments);
            }
        });
        return 0;
    }
    std::fprintf(stderr, "bench: no workload '%s'; there are:", arguments.workload.c_str());
    for (const workload<Runtime>& entry : suite<Runtime>) std::fprintf(stderr, " %s", entry.name);
    std::fputc('\n', stderr);
    return 2;
}

}  // namespace bench
