// datagram.cc: see datagram.h.
#include "net/datagram.h"

#include <algorithm>

#include "netpoll/fd_calls.h"

namespace weft::net::detail {

namespace fds = weft::detail::fds;
using weft::detail::call_in;
using weft::detail::call_out;
using weft::detail::fd_handle;
using weft::detail::fd_use;
using weft::detail::io_result;
using weft::detail::may_leave_some;

namespace {

constexpr int64_t first_pause_ns = 100'000;
constexpr int64_t longest_pause_ns = 20'000'000;

}  // namespace

io_result send_datagram(const fd_handle& h, const_buffer b) noexcept {
    return call_out(h, may_leave_some, [&] { return fds::socket_send(h.fd(), b.data(), b.size()); });
}

io_result send_datagram(const fd_handle& h, const_buffer b, const socket_address& to) noexcept {
    return call_out(h, may_leave_some,
                    [&] { return fds::socket_send_to(h.fd(), b.data(), b.size(), to.get(), to.size); });
}

io_result send_unix_datagram(const fd_handle& h, const_buffer b, const socket_address& to) noexcept {
    const fd_use use(h.desc(), h.generation());
    if (!use.entered()) return {-1, 0, io_result::how::closed};
    const sockaddr* where = to.size == 0 ? nullptr : to.get();
    const auto attempt = [&] { return fds::socket_send_to(h.fd(), b.data(), b.size(), where, to.size); };
    for (int64_t pause_ns = first_pause_ns;; pause_ns = std::min(2 * pause_ns, longest_pause_ns)) {
        const int64_t until_ns = weft::detail::now_ns() + pause_ns;
        const auto deadline = [&] { return std::min(until_ns, h.write_deadline()); };
        const io_result r =
            call_fd(use, use.desc().out, weft::detail::wait_reason::fd_writable, may_leave_some, attempt, deadline);
        if (r.ended != io_result::how::timed_out || weft::detail::now_ns() >= h.write_deadline()) return r;
    }
}

io_result receive_datagram(const fd_handle& h, mutable_buffer b, socket_address& from, bool& cut) noexcept {
    return call_in(h, may_leave_some, [&] {
        from.size = sizeof(from.storage);
        return fds::socket_receive_from(h.fd(), b.data(), b.size(), from.get(), from.size, cut);
    });
}

}  // namespace weft::net::detail
