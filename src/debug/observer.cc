// observer.cc: what the monitor does for observers: see monitor/observe.h.
#include <algorithm>

#include <weft/debug.h>

#include "base/time_units.h"
#include "debug/dump.h"
#include "debug/watchdog.h"
#include "lifecycle/crash.h"
#include "lifecycle/debug_options.h"
#include "monitor/observe.h"
#include "os/os.h"
#include "os/signals.h"
#include "per_g/held.h"
#include "sched/scheduler.h"

namespace weft {

namespace detail {

namespace {

// One signal requests dumps of several runtimes, which are written one at a time.
constinit atomic<bool> dumping{false};

constexpr int64_t retry_ns = 2 * ns_per_ms;  // while another runtime's is written

bool ask_for_dump(void*, scheduler& s) noexcept {
    s.watch.request_dump();  // Q1
    s.sysmon.wake();         // Q2
    return true;
}

// Called in the signal handler.
void ask_all_for_dumps() noexcept { visit_schedulers(&ask_for_dump, nullptr); }

void start_dump_signal(int signal) noexcept {
    if (const int error = dump_on_signal(signal)) {
        warn("cannot install the handler that writes dumps for signal %d (errno %d); choose another signal", signal,
             error);
    }
}

}  // namespace

void free_observing_locks() noexcept {
    dumping.store(false, relaxed_alone);
    free_held_lock();
}

observer::observer() noexcept = default;
observer::~observer() = default;

void observer::start(const scheduler& s, const debug_options& debug, int64_t watchdog_ns) {
    began_ns_ = os::monotonic_ns();
    if (debug.trace_ms != 0) {
        trace_every_ns_ = debug.trace_ms * ns_per_ms;
        trace_at_ns_ = began_ns_ + trace_every_ns_;
        trace_detail_ = debug.trace_detail;
    }
    if (watchdog_ns <= 0) watchdog_ns = debug.watchdog_ms * ns_per_ms;
    if (watchdog_ns > 0) {
        watched_ = std::make_unique<watched>(s, watchdog_ns);
        watch_every_ns_ = watched_->period_ns();
        watch_at_ns_ = began_ns_ + watch_every_ns_;
        os::enable_questions();
    }
    if (debug.dump_signal != 0) start_dump_signal(debug.dump_signal);
}

int64_t observer::due_ns() const noexcept {
    WEFT_FULL_FENCE();                                                         // Q3 before Q4
    const int64_t dump_ns = dump_wanted_.load(relaxed) ? dump_at_ns_ : never;  // Q4. relaxed: the fence
    return std::min({dump_ns, trace_at_ns_, watch_at_ns_});
}

// Does not wait for another runtime's monitor, because Ps need watching.
void observer::dump_if_it_is_our_turn(scheduler& s, int64_t now_ns) noexcept {
    if (dumping.exchange(true, acquire)) {  // pairs with the store
        dump_at_ns_ = now_ns + retry_ns;
        return;
    }
    dump_at_ns_ = long_ago;
    dump_wanted_.exchange(false, acquire);  // pairs with Q1
    s.sysmon.set_reports(true);
    dump_scheduler(s, os::stderr_fd, {}, &s.sysmon);
    s.sysmon.set_reports(false);
    dumping.store(false, release);  // pairs with the exchange
    if (watched_ == nullptr) return;
    watched_->forget();
    watch_at_ns_ = os::monotonic_ns() + watch_every_ns_;
}

void observer::act(scheduler& s, int64_t now_ns) noexcept {
    if (now_ns >= dump_at_ns_ && dump_wanted_.load(relaxed_count)) dump_if_it_is_our_turn(s, now_ns);
    if (now_ns >= trace_at_ns_) {
        print_trace(s, (now_ns - began_ns_) / ns_per_ms, trace_detail_);
        trace_at_ns_ = now_ns + trace_every_ns_;
    }
    if (now_ns >= watch_at_ns_) {
        watched_->look(s, now_ns, now_ns - watch_at_ns_);
        watch_at_ns_ = os::monotonic_ns() + watch_every_ns_;
    }
}

}  // namespace detail

int dump_on_signal(int signal) noexcept {
    detail::os::enable_questions();
    return detail::os::call_on_signal(signal, &detail::ask_all_for_dumps);
}

}  // namespace weft
