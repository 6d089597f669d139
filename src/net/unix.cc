// unix.cc: see weft/net/unix.h.

#include <algorithm>
#include <cerrno>
#include <utility>

#include <weft/net/unix.h>

#include "net/datagram.h"
#include "net/report.h"
#include "net/socket_calls.h"
#include "netpoll/fd_calls.h"
#include "os/file_calls.h"
#include "os/process_calls.h"
#include "os/sockets.h"

namespace weft::net {

namespace {

namespace fds = weft::detail::fds;
namespace os = weft::detail::os;
using detail::check;
using detail::code_of;
using detail::socket_address;
using detail::throw_errno;
using weft::detail::call_in;
using weft::detail::call_out;
using weft::detail::fd_handle;
using weft::detail::io_result;
using weft::detail::may_leave_some;
using weft::detail::relaxed;

io_result connect_to(const unix_address& to, fd_handle& made) {
    const int fd = fds::socket_make(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0) return {-1, -fd, io_result::how::failed};
    made = fd_handle(fd);
    return detail::connect_to(socket_address(to), made);
}

std::pair<fd_handle, fd_handle> make_pair_of(int type) {
    int made[2] = {-1, -1};
    if (const int result = fds::socket_pair(type, made); result < 0)
        throw_errno(-result, "weft: cannot make a pair of Unix sockets");
    try {
        fd_handle first(made[0]);
        made[0] = -1;
        return {std::move(first), fd_handle(made[1])};
    } catch (...) {
        if (made[0] >= 0) fds::fd_close(made[1]);  // fd_handle closes its descriptor when it throws
        throw;
    }
}

std::string advice_on_connecting(int error, const unix_address& to) {
    if (error == ENOENT) return ": the path does not exist; start its server first";
    if (error == ECONNREFUSED && !to.is_abstract())
        return ": no server listens on this path; start it again: the last one ended without removing the path";
    if (error == EACCES) return ": a connection needs write permission for the path";
    return {};
}

// Whether at is a socket without a listener: connections to other files are refused, too.
bool is_left_over(const unix_address& at) {
    os::file_status file{};
    const std::string path(at.path());
    if (os::file_status_at(path.c_str(), false, file) != 0 || file.kind != os::file_kind::socket) return false;
    const int fd = fds::socket_make(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0) return false;
    socket_address address(at);
    const int result = fds::socket_connect(fd, address.get(), address.size);
    fds::fd_close(fd);
    return result == -ECONNREFUSED;
}

}  // namespace

unix_stream unix_stream::connect(const unix_address& to) {
    fd_handle made;
    const io_result r = connect_to(to, made);
    if (r.ended == io_result::how::failed)
        throw_errno(r.error, "weft: cannot connect to " + to.to_string() + advice_on_connecting(r.error, to));
    check(r, ("weft: cannot connect to " + to.to_string()).c_str());
    return unix_stream(std::move(made));
}

unix_stream unix_stream::connect(const unix_address& to, std::error_code& ec) {
    fd_handle made;
    const io_result r = connect_to(to, made);
    ec = code_of(r);
    return ec ? unix_stream() : unix_stream(std::move(made));
}

std::pair<unix_stream, unix_stream> unix_stream::pair() {
    auto [first, second] = make_pair_of(SOCK_STREAM);
    return {unix_stream(std::move(first)), unix_stream(std::move(second))};
}

unix_stream unix_stream::adopt(int fd) {
    return unix_stream(detail::adopt_socket(fd, true, SOCK_STREAM, "weft: unix_stream::adopt"));
}

std::size_t unix_stream::send_files(const_buffer b, std::span<const int> files) {
    constexpr const char* what = "weft: send_files";
    if (b.size() == 0)
        throw std::system_error(EINVAL, std::generic_category(),
                                "weft: send_files: the buffer is empty; descriptors are sent with at least one byte");
    if (files.empty()) return write_some(b);
    if (files.size() > os::files_most) {
        throw std::system_error(EINVAL, std::generic_category(),
                                "weft: send_files: too many descriptors; the maximum for one call is 253");
    }
    const io_result r = call_out(handle_, may_leave_some, [&] {
        return fds::socket_send_files(handle_.fd(), b.data(), b.size(), files.data(), files.size());
    });
    check(r, what);
    return static_cast<std::size_t>(r.count);
}

received_files unix_stream::receive_files(mutable_buffer b, std::vector<int>& files, std::size_t files_max) {
    constexpr const char* what = "weft: receive_files";
    if (b.size() == 0) return {read_some(b), false};
    int came[os::files_most];
    std::size_t count = 0;
    bool cut = false;
    const std::size_t room = std::min(files_max, os::files_most);
    files.reserve(files.size() + room);  // otherwise they would be lost if memory ran out later
    const io_result r = call_in(handle_, may_leave_some, [&] {
        count = room;
        return fds::socket_receive_files(handle_.fd(), b.data(), b.size(), came, count, cut);
    });
    check(r, what);
    files.insert(files.end(), came, came + count);
    return {static_cast<std::size_t>(r.count), cut};
}

unix_address unix_stream::local_address() const {
    return detail::name_of(handle_, false, "weft: local_address").to_unix_address();
}

unix_address unix_stream::remote_address() const {
    return detail::name_of(handle_, true, "weft: remote_address").to_unix_address();
}

peer_credentials unix_stream::credentials() const {
    constexpr const char* what = "weft: credentials";
    const weft::detail::fd_use use(handle_.desc(), handle_.generation());
    if (!use.entered()) throw std::system_error(errc::closed, what);
    peer_credentials who{};
    if (const int result = fds::socket_peer(handle_.fd(), who.pid, who.uid, who.gid); result < 0)
        throw_errno(-result, what);
    return who;
}

unix_listener::unix_listener(const unix_address& at) : unix_listener(at, options()) {}

unix_listener::unix_listener(const unix_address& at, options how) : at_(at), owner_(os::process_number()) {
    const std::string what = "weft: cannot listen on " + at.to_string();
    fd_handle made = detail::make_socket(AF_UNIX, SOCK_STREAM, 0, what);
    socket_address address(at);
    int result = fds::socket_bind(made.fd(), address.get(), address.size);
    if (result == -EADDRINUSE && !at.path().empty() && is_left_over(at)) {
        if (!how.replace) {
            throw_errno(
                EADDRINUSE,
                what + ": a server that has ended left this path behind; remove it, or set replace in the options");
        }
        os::file_unlink(std::string(at.path()).c_str());
        result = fds::socket_bind(made.fd(), address.get(), address.size);
    }
    if (result < 0) throw_errno(-result, what + detail::advice_on_binding(-result));
    const bool has_file = !at.path().empty() && !weft::detail::is_simulated_fd(made.fd());
    unlinks_.store(how.unlink_on_close && has_file, weft::detail::relaxed_alone);
    file_ = file_at(at);
    if (result = fds::socket_listen(made.fd(), how.backlog); result < 0) {
        unlink();
        throw_errno(-result, what);
    }
    handle_ = std::move(made);
}

unix_listener::unix_listener(unix_listener&& other) noexcept
    : socket(static_cast<socket&&>(other)),  // only that part of other
      at_(other.at_),
      file_(other.file_),
      owner_(other.owner_),
      unlinks_(other.unlinks_.exchange(false, weft::detail::relaxed_alone)) {}

unix_listener& unix_listener::operator=(unix_listener&& other) noexcept {
    if (this == &other) return *this;
    unlink();
    socket::operator=(static_cast<socket&&>(other));
    at_ = other.at_;
    file_ = other.file_;
    owner_ = other.owner_;
    unlinks_.store(other.unlinks_.exchange(false, relaxed), relaxed);  // relaxed: as above
    return *this;
}

unix_listener unix_listener::adopt(int fd) {
    unix_listener adopted;
    adopted.handle_ = detail::adopt_socket(fd, true, SOCK_STREAM, "weft: unix_listener::adopt");
    return adopted;
}

unix_stream unix_listener::accept() {
    const io_result r = detail::accept_from(handle_);
    check(r, "weft: accept");
    return unix_stream(fd_handle(static_cast<int>(r.count)));
}

unix_stream unix_listener::accept(std::error_code& ec) {
    const io_result r = detail::accept_from(handle_);
    ec = code_of(r);
    return ec ? unix_stream() : unix_stream(fd_handle(static_cast<int>(r.count)));
}

void unix_listener::close() noexcept {
    unlink();
    socket::close();
}

int unix_listener::release() {
    const int fd = socket::release();
    if (fd >= 0) unlinks_.store(false, relaxed);  // relaxed: no other thread uses it
    return fd;
}

unix_address unix_listener::local_address() const {
    return detail::name_of(handle_, false, "weft: local_address").to_unix_address();
}

// Empty if there is no file.
unix_listener::file_id unix_listener::file_at(const unix_address& at) noexcept {
    char path[unix_address::longest + 1] = {};
    std::copy(at.path().begin(), at.path().end(), path);
    os::file_status file{};
    if (path[0] == '\0' || os::file_status_at(path, false, file) != 0) return {};
    return {file.device, file.inode};
}

// Must run before the socket is closed, because afterwards the path may belong to another server.
// Another program may have replaced the path even before.
void unix_listener::unlink() noexcept {
    if (!unlinks_.exchange(false, relaxed) || owner_ != os::process_number())
        return;  // relaxed: exactly one caller does it
    if (file_ == file_id() || file_at(at_) != file_) return;
    char path[unix_address::longest + 1] = {};
    std::copy(at_.path().begin(), at_.path().end(), path);
    os::file_unlink(path);
}

namespace {

io_result receive_into(const fd_handle& h, mutable_buffer b, unix_datagram::received& got) noexcept {
    socket_address from;
    const io_result r = detail::receive_datagram(h, b, from, got.cut);
    got.size = r.ended == io_result::how::done ? static_cast<std::size_t>(r.count) : 0;
    if (r.ended == io_result::how::done) got.from = from.to_unix_address();
    return r;
}

socket_address nowhere() noexcept {
    socket_address none;
    none.size = 0;
    return none;
}

}  // namespace

unix_datagram::unix_datagram(const unix_address& at) {
    const std::string what = "weft: cannot bind a socket to " + at.to_string();
    fd_handle made = detail::make_socket(AF_UNIX, SOCK_DGRAM, 0, what);
    socket_address address(at);
    const int result = fds::socket_bind(made.fd(), address.get(), address.size);
    if (result < 0) throw_errno(-result, what + detail::advice_on_binding(-result));
    handle_ = std::move(made);
}

unix_datagram unix_datagram::unbound() {
    return unix_datagram(detail::make_socket(AF_UNIX, SOCK_DGRAM, 0, "weft: cannot make a Unix datagram socket"));
}

std::pair<unix_datagram, unix_datagram> unix_datagram::pair() {
    auto [first, second] = make_pair_of(SOCK_DGRAM);
    return {unix_datagram(std::move(first)), unix_datagram(std::move(second))};
}

void unix_datagram::connect(const unix_address& to) {
    const weft::detail::fd_use use(handle_.desc(), handle_.generation());
    const std::string what = "weft: cannot connect to " + to.to_string();
    if (!use.entered()) throw std::system_error(errc::closed, what);
    socket_address address(to);
    const int result = fds::socket_connect(handle_.fd(), address.get(), address.size);
    if (result < 0) throw_errno(-result, what + advice_on_connecting(-result, to));
}

void unix_datagram::send(const_buffer b) { check(detail::send_unix_datagram(handle_, b, nowhere()), "weft: send"); }

void unix_datagram::send(const_buffer b, std::error_code& ec) {
    ec = code_of(detail::send_unix_datagram(handle_, b, nowhere()));
}

void unix_datagram::send_to(const_buffer b, const unix_address& to) {
    check(detail::send_unix_datagram(handle_, b, socket_address(to)), ("weft: send to " + to.to_string()).c_str());
}

void unix_datagram::send_to(const_buffer b, const unix_address& to, std::error_code& ec) {
    ec = code_of(detail::send_unix_datagram(handle_, b, socket_address(to)));
}

unix_datagram::received unix_datagram::receive(mutable_buffer b) {
    received got{};
    check(receive_into(handle_, b, got), "weft: receive");
    return got;
}

unix_datagram::received unix_datagram::receive(mutable_buffer b, std::error_code& ec) {
    received got{};
    ec = code_of(receive_into(handle_, b, got));
    return got;
}

unix_address unix_datagram::local_address() const {
    return detail::name_of(handle_, false, "weft: local_address").to_unix_address();
}

}  // namespace weft::net
