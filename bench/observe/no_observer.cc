// no_observer.cc: for programs without weft::observe: observer.h.
#include <cstdio>
#include <cstdlib>

#include "observer.h"

namespace bench {

std::shared_ptr<const void> observer_from_environment() {
    const char* const wanted = std::getenv("BENCH_OBSERVE");
    if (wanted == nullptr) return nullptr;
    std::fprintf(stderr, "bench: BENCH_OBSERVE=%s: this program has nothing that observes; use PROGRAM_observed\n",
                 wanted);
    std::exit(2);
}

}  // namespace bench
