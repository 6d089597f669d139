// queue_delay.cc: see weft/observe/queue_delay.h.
//
// A green thread that yields goes to the end of its P's queue, so the time until it runs again is
// the wait of a green thread that arrives. The times that the runtime notes itself (G::since_ns)
// are by a clock that a busy P reads only now and then, and direct switches do not note theirs.
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <weft/event.h>
#include <weft/go.h>
#include <weft/observe/queue_delay.h>
#include <weft/runtime.h>
#include <weft/time.h>
#include <weft/wait_group.h>

#include "observe/codel.h"
#include "os/os.h"

namespace weft::observe {

struct queue_delay::state {
    explicit state(const queue_delay_options& options)
        : law(options.target.count(), options.interval.count()), period(options.period) {}

    void measure() {
        while (!over.wait_for(period)) {
            const int64_t begun_ns = weft::detail::os::monotonic_ns();
            law.begun(begun_ns);
            static_cast<void>(weft::yield());
            const int64_t now_ns = weft::detail::os::monotonic_ns();
            law.measured(now_ns - begun_ns, now_ns);
        }
    }

    detail::codel law;
    const std::chrono::nanoseconds period;
    event over;
};

namespace {

void check(std::chrono::nanoseconds d, const char* name) {
    if (d.count() > 0) return;
    throw std::invalid_argument("weft: queue_delay_options::" + std::string(name) + " is " + std::to_string(d.count()) +
                                " ns; it must be greater than zero");
}

}  // namespace

queue_delay::queue_delay(const queue_delay_options& options) {
    check(options.target, "target");
    check(options.interval, "interval");
    check(options.period, "period");
    state_ = std::make_shared<state>(options);
    weft::go({.name = "queue delay"}, [s = state_] { s->measure(); });
}

queue_delay::~queue_delay() { state_->over.set(); }

std::chrono::nanoseconds queue_delay::now() const noexcept {
    return std::chrono::nanoseconds(state_->law.last_ns(weft::detail::os::monotonic_ns()));
}

std::chrono::nanoseconds queue_delay::minimum() const noexcept {
    return std::chrono::nanoseconds(state_->law.minimum_ns(weft::detail::os::monotonic_ns()));
}

std::chrono::nanoseconds queue_delay::smoothed() const noexcept {
    return std::chrono::nanoseconds(state_->law.smoothed_ns(weft::detail::os::monotonic_ns()));
}

bool queue_delay::overloaded() const noexcept { return state_->law.overloaded(weft::detail::os::monotonic_ns()); }

bool queue_delay::should_shed() noexcept { return state_->law.should_shed(weft::detail::os::monotonic_ns()); }

}  // namespace weft::observe
