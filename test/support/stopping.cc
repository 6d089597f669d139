#include "stopping.h"

#include "eventually.h"
#include "sched/current.h"
#include "sched/scheduler.h"

namespace weft::test {

const std::atomic<bool>& stop_of(runtime& rt) {
    return *rt.run([] { return &weft::detail::current_m()->home->stopping; });
}

void compute_until_stopped() {
    const std::atomic<bool>& stopping = weft::detail::current_m()->home->stopping;
    busily([&] { return stopping.load(); });
}

}  // namespace weft::test
