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
    if (name == "recorder") return std::make_shared<const weft::observe::recorder>();
    if (name == "cpu_profiler") return std::make_shared<const weft::observe::cpu_profiler>();
    std::fprintf(stderr, "bench: BENCH_OBSERVE=%s: unknown; use recorder or cpu_profiler\n", wanted);
    std::exit(2);
}

}  // namespace bench
