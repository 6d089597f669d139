// outside_poller.cc: see outside_poller.h.
#include "netpoll/outside_poller.h"

#include <cerrno>
#include <memory>

#include <weft/detail/spin_lock.h>
#include <weft/detail/wait.h>

#include "base/atomic.h"
#include "lifecycle/fork.h"
#include "netpoll/event_source.h"
#include "os/os.h"
#include "poll/backend.h"

namespace weft::detail {

namespace {

constinit atomic<poll_backend*> outside{nullptr};  // guarded by opening
constinit spin_lock opening;

void* poll_for_ever(void* argument) noexcept {
    auto& backend = *static_cast<poll_backend*>(argument);
    os::detach_this_thread();
    os::name_thread("weft-outside");
    for (;;) {
        poll_event events[poll_batch];
        const uint32_t n = backend.wait(events, never);
        for (uint32_t i = 0; i < n; ++i) {
            const uint64_t token = events[i].token;
            ready_all(is_of_source(token) ? collect_standing(token) : poll_desc::deliver(events[i]));
        }
    }
}

// Returns 0 or an errno value.
int open_locked() noexcept {
    if (outside.load(relaxed_locked) != nullptr) return 0;
    install_fork_handler();
    std::unique_ptr<poll_backend> made = make_poll_backend();
    if (made == nullptr) return ENOMEM;
    if (const int error = made->open()) return error;
    os::thread_id thread = 0;
    if (const int error = os::start_thread(thread, &poll_for_ever, made.get())) return error;
    outside.store(made.release(), release);  // pairs with add_to_outside_poller
    return 0;
}

}  // namespace

poll_backend* outside_backend(int& error) noexcept {
    poll_backend* where = outside.load(acquire);  // pairs with open_locked
    if (where != nullptr) return where;
    opening.lock();
    error = open_locked();
    where = outside.load(relaxed_locked);
    opening.unlock();
    return where;
}

int add_to_outside_poller(poll_desc& d) noexcept {
    if (d.home() != nullptr) return 0;
    int error = 0;
    poll_backend* where = outside_backend(error);
    return where == nullptr ? error : d.add_to(*where);
}

void forget_outside_poller() noexcept {
    outside.store(nullptr, relaxed_alone);
    opening.reset_after_fork();
}

}  // namespace weft::detail
