#include "retaken.h"

#include <chrono>
#include <cstdlib>

#include <weft/go.h>

#include "eventually.h"
#include "sched/current.h"
#include "sched/scheduler.h"

namespace weft::test {

using namespace std::chrono_literals;

bool has_p() noexcept {
    const weft::detail::M* m = weft::detail::current_m();
    const uintptr_t word = m->p->owner.load();
    return (word & ~weft::detail::attention::mask) == reinterpret_cast<uintptr_t>(m);
}

void lose_p() {
    const auto deadline = std::chrono::steady_clock::now() + patience();
    while (has_p()) {
        // busily() reports a timeout.
        if (std::chrono::steady_clock::now() > deadline) busily([] { return !has_p(); });
    }
}

crowd::crowd(runtime& rt) {
    for (unsigned i = 0; i <= rt.procs(); ++i) {
        members_.add();
        rt.go({.name = "one of a crowd"}, [this] {
            while (!over_) {
                compute_for(20us);
                weft::yield();
            }
            members_.done();
        });
    }
}

crowd::~crowd() {
    over_ = true;
    members_.wait();
}

short_slices::short_slices() {
    if (std::getenv("RUN_SLICE") == nullptr) slice_.emplace("RUN_SLICE", "1");  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace weft::test
