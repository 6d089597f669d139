// foreign_wait.cc: see foreign_wait.h.
#include "net/foreign_wait.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <weft/detail/step.h>
#include <weft/error.h>

#include "os/process_calls.h"
#include "os/signals.h"
#include "sched/scheduler.h"
#include "sched/switch.h"

namespace weft::detail {

namespace {

poll_backend* backend_of_caller(int& error) noexcept {
    const M* m = current_g_m();
    return m->home->io.backend(*m->home, error);
}

// Returns 0 or an errno value.
int add_to_poller(poll_desc& d) noexcept {
    int error = 0;
    poll_backend* where = backend_of_caller(error);
    return where == nullptr ? error : d.add_anew(*where);
}

foreign_end end_of(wait_result r) noexcept {
    switch (r) {
        case wait_result::served:
            return foreign_end::again;
        case wait_result::timed_out:
            return foreign_end::timed_out;
        case wait_result::cancelled:
            return foreign_end::cancelled;
        case wait_result::expired:
            return foreign_end::expired;
    }
    return foreign_end::again;
}

// The process whose memory this is: a child of vfork() runs in its parent's, and closes descriptors
// before exec, which does not concern the parent. 0: unknown.
constinit atomic<int> owner{0};
constinit atomic<uint32_t> owner_forks{0};

void remember_process() noexcept {
    // relaxed: both are the same in all threads of a process
    if (owner.load(relaxed) != 0 && owner_forks.load(relaxed) == poll_desc::process()) return;
    owner_forks.store(poll_desc::process(), relaxed);  // relaxed: as above
    owner.store(os::process_number(), relaxed);        // relaxed: as above
}

bool is_in_own_memory() noexcept { return owner.load(relaxed) == os::process_number(); }  // relaxed: as above

}  // namespace

[[gnu::noinline]] bool may_park() noexcept {
    const M* m = current_g_m();
    if (m == nullptr || m->in_runtime.load(relaxed_own) != 0 || m->in_hook || simulates()) return false;
    return !os::is_on_alternate_stack(m->alternate_stack, __builtin_frame_address(0));
}

bool is_own_fd(int fd) noexcept { return poll_desc::is_owned(fd); }

void before_close(int fd) noexcept {
    poll_desc* d = poll_desc::existing(fd);
    if (d != nullptr && d->is_borrowed() && is_in_own_memory()) d->renounce();
}

void after_close(int fd) noexcept {
    poll_desc* d = poll_desc::existing(fd);
    if (d != nullptr && d->is_borrowed() && is_in_own_memory()) d->look_after_close();
}

void before_close_range(unsigned first, unsigned last) noexcept {
    if (first >= static_cast<unsigned>(poll_desc::numbers_end)) return;
    for (poll_desc* d = poll_desc::from(static_cast<int>(first)); d != nullptr; d = poll_desc::from(d->fd() + 1)) {
        if (static_cast<unsigned>(d->fd()) > last) return;
        before_close(d->fd());
    }
}

foreign_fd::~foreign_fd() {
    if (generation_ == 0) return;
    side().pass_on();
    desc_->leave();
}

void foreign_fd::begin() noexcept {
    if (desc_ == nullptr) desc_ = poll_desc::existing(fd_);
    if (desc_ != nullptr) seen_ = side().edges();
}

foreign_end foreign_fd::wait(int64_t deadline_ns) noexcept {
    const bool was_known = desc_ != nullptr;
    if (!was_known || generation_ == 0) {
        if (!was_known) desc_ = poll_desc::of(fd_);
        if (desc_ == nullptr) return foreign_end::failed;
        remember_process();
        generation_ = desc_->borrow_kept();
        if (generation_ == 0) return foreign_end::closed;  // weft's own, and being closed
        if (!was_known) return foreign_end::again;
    }
    if (!desc_->is_open(generation_)) return foreign_end::closed;
    if (add_to_poller(*desc_) != 0) return foreign_end::failed;
    const wait_result r =
        side().wait_after(seen_, writes_ ? wait_reason::fd_writable : wait_reason::fd_readable, deadline_ns);
    if (r == wait_result::served && !desc_->is_open(generation_)) return foreign_end::closed;
    return end_of(r);
}

const select_ops foreign_fds::ops{&seems_ready, &has_new_edge, nullptr, poll_side::waiting,
                                  [](select_case& /*c*/) noexcept { return true; }};

foreign_fds::foreign_fds(std::size_t count) {
    if (count <= few) return;
    many_watches_ = std::make_unique<watch[]>(count);
    many_cases_ = std::make_unique<select_case[]>(count);
    many_locks_ = std::make_unique<held_lock[]>(count);
    watches_ = many_watches_.get();
    cases_ = many_cases_.get();
    locks_ = many_locks_.get();
}

foreign_fds::~foreign_fds() {
    for (std::size_t i = 0; i < count_; ++i) {
        watches_[i].side().pass_on();
        watches_[i].desc->leave();
    }
}

void foreign_fds::add(int fd, bool writes) noexcept {
    poll_desc* d = poll_desc::of(fd);
    if (d == nullptr) return;
    remember_process();
    const uint32_t generation = d->borrow_kept();
    if (generation == 0) return;
    watch& w = watches_[count_];
    w = {d, generation, 0, writes};
    select_case& c = cases_[count_];
    c.ops = &ops;
    c.object = &w.side();
    c.lock = &w.side().lock_word();
    c.queue = &w.side().waiters();
    c.w.slot = &w;
    ++count_;
}

void foreign_fds::begin() noexcept {
    for (std::size_t i = 0; i < count_; ++i) watches_[i].seen = watches_[i].side().edges();
}

const foreign_fds::watch& foreign_fds::watch_of(const select_case& c) noexcept {
    return *static_cast<const watch*>(static_cast<const void*>(c.w.slot));
}

bool foreign_fds::seems_ready(const select_case& c) noexcept {
    const watch& w = watch_of(c);
    return w.side().edges() != w.seen;
}

bool foreign_fds::has_new_edge(select_case& c, uint32_t bits) noexcept {
    return poll_side::edges_of(bits) != watch_of(c).seen;
}

foreign_end foreign_fds::wait(int64_t deadline_ns) noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
        watches_[i].side().pass_on();  // an edge that woke us was perhaps for another waiter
        const int error = add_to_poller(*watches_[i].desc);
        // EPERM: a regular file, which is ready, so that the caller does not wait. EBADF: closed
        // meanwhile.
        if (error == EBADF) return foreign_end::again;
        if (error != 0) return foreign_end::failed;
    }
    select_request request{.cases = cases_, .count = count_, .locks = locks_};
    request.deadline_ns = deadline_ns;
    request.deadline_case = count_;
    request.waits_for_files = true;
    try {
        return select_among(request) == count_ ? foreign_end::timed_out : foreign_end::again;
    } catch (const timed_out&) {
        return foreign_end::expired;
    } catch (const cancelled&) {
        return foreign_end::cancelled;
    }
}

}  // namespace weft::detail
