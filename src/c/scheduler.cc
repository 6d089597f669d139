// scheduler.cc: see weft/run/scheduler.h, lifecycle/adopt.h.
#include "sched/scheduler.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <weft/debug.h>
#include <weft/run/scheduler.h>
#include <weft/run/vmem.h>
#include <weft/runtime.h>

#include "c/place.h"
#include "c/status.h"
#include "lifecycle/adopt.h"
#include "lifecycle/config.h"
#include "lifecycle/start.h"
#include "sched/switch.h"

namespace {

using namespace weft::detail;

static_assert(RUN_MAX_P_COUNT == procs_max);
static_assert(RUN_STACK_MAX == default_stack_size);
static_assert(RUN_STACKS_GROWING == static_cast<int>(weft::stack_policy::growing));
static_assert(RUN_NO_SIGNAL == weft::runtime_options::no_signal);
static_assert(std::chrono::nanoseconds(RUN_KEEP_MEMORY) == weft::runtime_options::keep_memory);

bool make_sense(const run_scheduler_opts_t& o) noexcept {
    return o.stacks >= RUN_STACKS_AUTOMATIC && o.stacks <= RUN_STACKS_GROWING && o.watchdog_ns >= 0;
}

weft::runtime_options options_of(const run_scheduler_opts_t& o) {
    using std::chrono::nanoseconds;
    weft::runtime_options wanted{.procs = o.procs, .stack_size = o.stack_size};
    if (o.always_guard) wanted.guard = weft::guard_policy::always;
    if (o.name != nullptr) wanted.name = o.name;
    wanted.stacks = static_cast<weft::stack_policy>(o.stacks);
    wanted.slice = nanoseconds(o.slice_ns);
    wanted.retake = !o.no_retake;
    wanted.preempt_signal = o.preempt_signal;
    wanted.memory_idle = nanoseconds(o.memory_idle_ns);
    wanted.timer_slack = nanoseconds(o.timer_slack_ns);
    wanted.watchdog = std::chrono::ceil<std::chrono::milliseconds>(nanoseconds(o.watchdog_ns));
    return wanted;
}

}  // namespace

run_status_t(run_scheduler_init)(void) noexcept { return run_scheduler_init_at(nullptr, nullptr, 0, nullptr); }

run_status_t(run_scheduler_init_with)(const run_scheduler_opts_t* opts) noexcept {
    return run_scheduler_init_at(opts, nullptr, 0, nullptr);
}

run_status_t run_scheduler_init_at(const run_scheduler_opts_t* opts,
                                   const char* file,
                                   int line,
                                   const char* function) noexcept {
    run_scheduler_opts_t o = RUN_SCHEDULER_OPTS_INIT;
    if (!read_options(opts, o)) return RUN_INVALID;
    const M* m = current_g_m();
    if (!claim_main()) return RUN_BUSY;
    const run_status_t status = guarded_call([&] {
        if (m != nullptr || !make_sense(o)) return RUN_INVALID;
        begin_on_this_stack(options_of(o), place_of(file, line, function));
        return RUN_OK;
    });
    if (status != RUN_OK) release_main();
    return status;
}

run_status_t run_scheduler_stop(void) noexcept {
    const M* m = current_g_m();
    if (m == nullptr || !is_on_own_stack(m->g)) return RUN_INVALID;
    const bool all_ended = end_on_this_stack();
    release_main();
    return all_ended ? RUN_OK : RUN_TIMEOUT;
}

run_status_t run_scheduler_stop_for(int64_t timeout_ns, run_stop_outcome_t* outcome) noexcept {
    if (outcome != nullptr && outcome->size < sizeof(outcome->size)) return RUN_INVALID;
    const M* m = current_g_m();
    if (m == nullptr || !is_on_own_stack(m->g)) return RUN_INVALID;
    weft::stop_outcome done;
    const bool all_ended = end_on_this_stack_by(deadline_of(timeout_ns), done);
    release_main();
    if (outcome != nullptr) {
        const std::size_t size = std::min(outcome->size, sizeof(*outcome));
        const run_stop_outcome_t all = {size, done.drained, done.cancelled, done.abandoned, done.stragglers};
        std::memcpy(outcome, &all, size);
    }
    return all_ended ? RUN_OK : RUN_TIMEOUT;
}

size_t run_stack_max_size(void) noexcept {
    if (const M* m = current_g_m()) return m->home->stacks.usable_size(0);
    scheduler* s = pin_default_scheduler_if_any();
    if (s == nullptr) return usual_stack_size();
    const size_t size = s->stacks.usable_size(0);
    s->unpin();
    return size;
}

unsigned run_procs(void) noexcept { return weft::stats().procs; }

run_status_t run_set_max_procs(unsigned n, unsigned* before) noexcept {
    return guarded_call([&] {
        const unsigned was = weft::set_max_procs(n);
        if (before != nullptr) *before = was;
    });
}
