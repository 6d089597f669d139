// fork.cc: see fork.h.
#include "lifecycle/fork.h"

#include <weft/detail/wait.h>

#include "base/abandoned.h"
#include "base/assert.h"
#include "base/generation.h"
#include "monitor/observe.h"
#include "netpoll/event_source.h"
#include "netpoll/outside_poller.h"
#include "os/interrupt_signal.h"
#include "os/os.h"
#include "os/signals.h"
#include "os/stay_loaded.h"
#include "per_g/inheritance.h"
#include "per_g/local.h"
#include "sched/current.h"
#include "sched/freeze.h"
#include "sched/scheduler.h"

namespace weft::detail {

namespace {

void in_child() noexcept {
    fork_generation.fetch_add(1, relaxed);  // relaxed: no other thread. F1
    const M* m = current_m();
    set_current_m(nullptr);  // F2
    if (m != nullptr && m->g != nullptr) m->g->traits |= trait::ends_slowly_in_child;
    if (m != nullptr && m->lent_by != nullptr) m->lent_by->traits |= trait::ends_slowly_in_child;
    forget_default_runtime();  // F3
    forget_adopted_thread();
    free_registry_lock();
    free_locals_lock();
    free_inheritance_lock();
    freezing.reset_after_fork();
    free_hooks_lock();
    free_observing_locks();
    os::installing_handlers.reset_after_fork();
    os::forget_questions();
    forget_thread_notes();
    poll_desc::forget_all();
    forget_outside_poller();
    forget_standing_sources();
    abandoned::add(abandoned::locks | abandoned::waits);     // F4
    if (m != nullptr && !m->is_main) os::restore_signals();  // F5
    os::renew_heavy_fence();
}

}  // namespace

void install_fork_handler() noexcept {
    static constinit atomic<bool> done{false};
    if (done.exchange(true, acq_rel)) return;  // acq_rel: only one caller installs
    os::stay_loaded();
    os::call_in_child_of_fork(&in_child);
}

}  // namespace weft::detail
