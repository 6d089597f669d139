// fd_io.cc: see fd_io.h.
#include "net/fd_io.h"

#include <cstdio>

#include "netpoll/outside_poller.h"
#include "sched/scheduler.h"
#include "sched/simulated_fds.h"
#include "sched/simulation.h"
#include "sched/switch.h"

namespace weft::detail {

namespace {

// Its waiters are green threads of the simulation.
[[gnu::noinline, gnu::cold]] int add_to_simulation(poll_desc& d) noexcept {
    if (controlling() == nullptr) return EOPNOTSUPP;
    simulated_fds* all = simulated_fds_of(d.fd());
    return all == nullptr ? EBADF : d.add_to(*all);
}

// Only what the simulation does itself may wake its green threads.
[[gnu::noinline, gnu::cold]] bool is_of_system(const poll_desc& d) noexcept {
    char what[80];
    std::snprintf(what, sizeof(what), "waits for descriptor %d, which belongs to the system", d.fd());
    return escapes_simulation(what);
}

}  // namespace

int add_to_poller_of_caller(poll_desc& d) noexcept {
    if (is_simulated_fd(d.fd())) [[unlikely]]
        return add_to_simulation(d);
    if (simulates() && is_of_system(d)) [[unlikely]]
        return EOPNOTSUPP;
    const M* m = current_g_m();
    return m != nullptr ? m->home->io.add(*m->home, d) : add_to_outside_poller(d);
}

bool await_fd(const fd_use& use,
              poll_side& side,
              uint32_t seen,
              wait_reason reason,
              int64_t deadline_ns,
              io_result& result) noexcept {
    using how = io_result::how;
    if (const int error = add_to_poller_of_caller(use.desc())) {
        result = {-1, error, how::failed};
        return false;
    }
    switch (side.wait_after(seen, reason, deadline_ns)) {
        case wait_result::served:
            return true;
        case wait_result::timed_out:
            result = {-1, 0, how::timed_out};
            return false;
        case wait_result::cancelled:
            result = {-1, 0, how::cancelled};
            return false;
        case wait_result::expired:
            result = {-1, 0, how::expired};
            return false;
    }
    return true;
}

}  // namespace weft::detail
