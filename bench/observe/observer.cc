// observer.cc: starts what BENCH_OBSERVE names: observer.h.
#include "observer.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <weft/observe/profile.h>
#include <weft/observe/recorder.h>

namespace bench {

std::shared_ptr<const void> observer_from_environment() {
    const char* const wanted = std::getenv("BENCH_OBSERVE");
    if (wanted == nullptr) return nullptr;
    const std::string_view name = wanted;
    using weft::observe::recorder;
    using weft::observe::recorder_options;
    if (name == "recorder") return std::make_shared<const recorder>();
    if (name == "sampled_stacks") return std::make_shared<const recorder>(recorder_options{.stack_every = 16});
    if (name == "all_stacks") return std::make_shared<const recorder>(recorder_options{.stack_every = 1});
    if (name == "cpu_profiler") return std::make_shared<const weft::observe::cpu_profiler>();
    std::fprintf(stderr, "bench: BENCH_OBSERVE=%s: unknown; use recorder, sampled_stacks, all_stacks or cpu_profiler\n",
                 wanted);
    std::exit(2);
}

}  // namespace bench
