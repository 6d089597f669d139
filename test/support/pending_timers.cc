#include "pending_timers.h"

#include "sched/current.h"
#include "sched/scheduler.h"

namespace weft::test {

uint64_t pending_timers(runtime& rt) {
    return rt.run([] {
        const weft::detail::scheduler& s = *weft::detail::current_m()->home;
        uint64_t sum = 0;
        for (uint32_t i = 0; i < s.ps.in_use(); ++i) {
            weft::detail::timer_queue& timers = s.ps[i].timers;
            timers.lock.lock();
            sum += timers.size();
            timers.lock.unlock();
        }
        return sum;
    });
}

}  // namespace weft::test
