// wait_fd.cc: see weft/wait_fd.h.
//
// A select for a descriptor follows the protocol of poll_side.h: begin compares the count of edges
// under the lock. An edge does not mean that the descriptor is ready, so confirm asks once more.

#include <cerrno>
#include <new>
#include <system_error>

#include <weft/error.h>
#include <weft/wait_fd.h>

#include "net/fd_io.h"
#include "net/report.h"
#include "netpoll/fd_calls.h"
#include "netpoll/poll_desc.h"
#include "os/sockets.h"

namespace weft {

namespace detail {

namespace {

constexpr int was_closed = -1;
constexpr const char* what_waits = "weft: wait_fd";

poll_side& side_of(poll_desc& d, bool writes) noexcept { return writes ? d.out : d.in; }

// Does not wait. An error, which is stored, counts as ready.
bool is_ready(int fd, bool writes, int& error) noexcept {
    short ready = 0;
    const int result = fds::fd_poll(fd, writes ? POLLOUT : POLLIN, ready);
    error = result < 0 ? -result : (ready & POLLNVAL) != 0 ? EBADF : 0;
    return error != 0 || ready != 0;
}

std::error_code code_of(int error) noexcept {
    return error == was_closed ? make_error_code(errc::closed) : std::error_code(error, std::generic_category());
}

void throw_if(int error) {
    if (error != 0) throw std::system_error(code_of(error), what_waits);
}

// Returns false on timeout.
bool wait_for_side(poll_desc& d, uint32_t generation, bool writes, int64_t deadline_ns) {
    const fd_use use(&d, generation);
    poll_side& side = side_of(d, writes);
    const wait_reason reason = writes ? wait_reason::fd_writable : wait_reason::fd_readable;
    for (;;) {
        const uint32_t seen = side.edges();  // I1
        int error = use.is_closed() ? was_closed : 0;
        if (error != 0 || is_ready(d.fd(), writes, error)) {  // I2
            side.pass_on();
            throw_if(error);
            return true;
        }
        io_result r;
        if (await_fd(use, side, seen, reason, deadline_ns, r)) continue;  // I3 to I5
        if (r.ended == io_result::how::timed_out) return false;
        net::detail::throw_result(r, what_waits);
    }
}

}  // namespace

const select_ops fd_select_state::ops{&seems_ready, &begin, nullptr, poll_side::waiting, &confirm};

void fd_select_state::prepare(select_request& r, select_case& c) noexcept {
    poll_side& side = side_of(*desc_, writes_);
    r.waits_for_files = true;
    c.ops = &ops;
    c.object = &side;
    c.lock = &side.lock_word();
    c.queue = &side.waiters();
    c.w.slot = this;
}

bool fd_select_state::look() noexcept {
    poll_side& side = side_of(*desc_, writes_);
    const fd_use use(desc_, generation_);
    seen_ = side.edges();
    error_ = use.is_closed() ? was_closed : 0;
    ready_ = error_ != 0 || is_ready(desc_->fd(), writes_, error_);
    if (!ready_) {
        error_ = add_to_poller_of_caller(*desc_);
        ready_ = error_ != 0;
    }
    return ready_;
}

bool fd_select_state::seems_ready(const select_case& c) noexcept {
    return static_cast<fd_select_state*>(static_cast<void*>(c.w.slot))->look();
}

bool fd_select_state::begin(select_case& c, uint32_t bits) noexcept {
    const auto& me = *static_cast<fd_select_state*>(static_cast<void*>(c.w.slot));
    return me.ready_ || poll_side::edges_of(bits) != me.seen_;
}

bool fd_select_state::confirm(select_case& c) noexcept {
    auto& me = *static_cast<fd_select_state*>(static_cast<void*>(c.w.slot));
    if (!me.ready_ && !me.look()) return false;
    side_of(*me.desc_, me.writes_).pass_on();
    return true;
}

std::error_code fd_select_state::error() const noexcept { return code_of(error_); }

void fd_select_state::check() const { throw_if(error_); }

}  // namespace detail

watched_fd::watched_fd(int fd) : fd_(fd) {
    if (fd < 0 || fd >= detail::poll_desc::numbers_end)
        throw std::system_error(EBADF, std::generic_category(), detail::what_waits);
    detail::poll_desc* d = detail::poll_desc::of(fd);
    if (d == nullptr) throw std::bad_alloc();
    generation_ = d->borrow();
    if (generation_ == 0) throw std::system_error(errc::closed, detail::what_waits);
    process_ = detail::poll_desc::process();
    desc_ = d;
}

watched_fd::~watched_fd() {
    if (desc_ != nullptr && process_ == detail::poll_desc::process()) desc_->leave();
}

fd_events watched_fd::wait_until_ns(fd_events what, int64_t deadline_ns) const {
    if (what == fd_events::none) {
        throw std::system_error(EINVAL, std::generic_category(),
                                "weft: wait_fd: no events to wait for; name readable, writable or either");
    }
    if (what != fd_events::either) {
        return detail::wait_for_side(*desc_, generation_, what == fd_events::writable, deadline_ns) ? what
                                                                                                    : fd_events::none;
    }
    detail::fd_select_state of[2] = {{*this, false}, {*this, true}};
    detail::select_case raw[2];
    detail::held_lock locks[2];
    detail::select_request request{.cases = raw, .count = 2, .locks = locks};
    request.deadline_ns = deadline_ns;
    request.deadline_case = 2;
    of[0].prepare(request, raw[0]);
    of[1].prepare(request, raw[1]);
    const std::size_t first = detail::select_among(request);
    if (first == 2) return fd_events::none;
    of[first].check();
    int error = 0;
    const bool both = detail::is_ready(fd_, first == 0, error) && error == 0;
    return both ? fd_events::either : first == 0 ? fd_events::readable : fd_events::writable;
}

}  // namespace weft
