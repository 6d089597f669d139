// net.cc: see weft/run/net.h.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

#include <weft/cancel.h>
#include <weft/net/resolve.h>
#include <weft/net/tcp.h>
#include <weft/net/udp.h>
#include <weft/net/unix.h>
#include <weft/run/net.h>
#include <weft/wait_fd.h>

#include "c/status.h"
#include "c/watch.h"

namespace net = weft::net;

struct run_socket {
    std::variant<net::tcp_stream, net::unix_stream, net::tcp_listener, net::unix_listener, net::udp_socket> of;
};

namespace {

template <typename T>
constexpr bool is_stream = std::is_base_of_v<net::stream, T>;

template <typename T>
constexpr bool is_listener = std::is_same_v<T, net::tcp_listener> || std::is_same_v<T, net::unix_listener>;

// Throws std::bad_alloc.
template <typename T>
run_socket_t* keep(T socket) {
    return new run_socket{std::move(socket)};
}

run_watch_t* watch(int fd) { return new run_watch{weft::watched_fd(fd)}; }

// error: errno's value, if it is the system's code.
run_status_t status_of_code(const std::error_code& code, int& error) noexcept {
    if (!code) return RUN_OK;
    if (code == weft::errc::closed) return RUN_CLOSED;
    if (code == weft::errc::cancelled) return RUN_CANCELLED;
    if (code == weft::errc::timed_out) return RUN_TIMEOUT;
    if (code == net::resolve_errc::not_understood) return RUN_INVALID;
    if (code.category() == net::resolve_category()) return RUN_NOT_FOUND;
    error = code.value();
    return error == ENOMEM ? RUN_EXHAUSTED : RUN_SYSTEM;
}

template <typename F>
run_status_t guarded_net_call(int* error, F&& f) noexcept {
    int ignored = 0;
    int& into = error == nullptr ? ignored : *error;
    into = 0;
    try {
        f();
        return RUN_OK;
    } catch (const weft::cancelled&) {
        return RUN_CANCELLED;
    } catch (const weft::timed_out&) {
        return RUN_EXPIRED;
    } catch (const std::system_error& e) {
        return status_of_code(e.code(), into);
    } catch (...) {
        return weft::detail::status_of_exception();
    }
}

run_status_t invalid(int* error) noexcept {
    if (error != nullptr) *error = 0;
    return RUN_INVALID;
}

template <typename F>
run_status_t make(const char* text, run_socket_t** made, int* error, F&& f) noexcept {
    if (made != nullptr) *made = nullptr;
    if (made == nullptr || text == nullptr) return invalid(error);
    return guarded_net_call(error, [&] { *made = keep(f(text)); });
}

// Returns RUN_INVALID unless Fits accepts the type of the socket.
template <template <typename> typename Fits, typename F>
run_status_t with(run_socket_t* s, int* error, F&& f) noexcept {
    if (error != nullptr) *error = 0;
    if (s == nullptr) return RUN_INVALID;
    return std::visit(
        [&]<typename T>(T& socket) -> run_status_t {
            if constexpr (Fits<T>::value) {
                return guarded_net_call(error, [&] { f(socket); });
            } else {
                return RUN_INVALID;
            }
        },
        s->of);
}

template <typename T>
using any = std::true_type;
template <typename T>
using streams = std::bool_constant<is_stream<T>>;
template <typename T>
using listeners = std::bool_constant<is_listener<T>>;
template <typename T>
using udp = std::is_same<T, net::udp_socket>;

void copy_address(const std::string& text, char* into) noexcept {
    const std::size_t size = std::min<std::size_t>(text.size(), RUN_ADDRESS_MAX - 1);
    std::memcpy(into, text.data(), size);
    into[size] = '\0';
}

// f returns the number of bytes.
template <typename F>
run_status_t transfer(run_socket_t* s, size_t* count, int* error, F&& f) noexcept {
    size_t ignored = 0;
    size_t& moved = count == nullptr ? ignored : *count;
    moved = 0;
    return with<streams>(s, error, [&](auto& stream) {
        std::error_code ec;
        moved = f(stream, ec);
        if (ec == weft::errc::timed_out) weft::throw_if_cancelled();  // it may be the deadline of a scope
        if (ec) throw std::system_error(ec);
    });
}

}  // namespace

run_status_t run_tcp_listen(const char* at, run_socket_t** made, int* error) noexcept {
    return make(at, made, error, [](const char* text) { return net::tcp_listener(text); });
}

run_status_t run_unix_listen(const char* at, run_socket_t** made, int* error) noexcept {
    return make(at, made, error, [](const char* text) { return net::unix_listener(text); });
}

run_status_t run_tcp_dial(const char* to, run_socket_t** made, int* error) noexcept {
    return make(to, made, error, [](const char* text) { return net::dial(text); });
}

run_status_t run_unix_connect(const char* to, run_socket_t** made, int* error) noexcept {
    return make(to, made, error, [](const char* text) { return net::unix_stream::connect(text); });
}

run_status_t run_udp_bind(const char* at, run_socket_t** made, int* error) noexcept {
    return make(at, made, error, [](const char* text) { return net::udp_socket(net::endpoint(text)); });
}

run_status_t run_socket_accept(run_socket_t* listener, run_socket_t** made, int* error) noexcept {
    if (made == nullptr) return invalid(error);
    *made = nullptr;
    return with<listeners>(listener, error, [&](auto& l) { *made = keep(l.accept()); });
}

run_status_t run_socket_read_some(run_socket_t* s, void* into, size_t size, size_t* count, int* error) noexcept {
    if (into == nullptr && size != 0) s = nullptr;
    return transfer(s, count, error,
                    [&](auto& stream, std::error_code& ec) { return stream.read_some({into, size}, ec); });
}

run_status_t run_socket_read(run_socket_t* s, void* into, size_t size, size_t* count, int* error) noexcept {
    if (into == nullptr && size != 0) s = nullptr;
    return transfer(s, count, error, [&](auto& stream, std::error_code& ec) { return stream.read({into, size}, ec); });
}

run_status_t run_socket_write(run_socket_t* s, const void* from, size_t size, size_t* count, int* error) noexcept {
    if (from == nullptr && size != 0) s = nullptr;
    return transfer(s, count, error,
                    [&](auto& stream, std::error_code& ec) { return stream.write_all({from, size}, ec); });
}

run_status_t run_socket_shutdown_send(run_socket_t* s, int* error) noexcept {
    return with<streams>(s, error, [](auto& stream) { stream.shutdown_send(); });
}

run_status_t run_udp_send(run_socket_t* s, const void* data, size_t size, const char* to, int* error) noexcept {
    if (to == nullptr || (data == nullptr && size != 0)) return invalid(error);
    return with<udp>(s, error, [&](net::udp_socket& socket) { socket.send_to({data, size}, net::endpoint(to)); });
}

run_status_t run_udp_receive(run_socket_t* s,
                             void* into,
                             size_t size,
                             size_t* count,
                             bool* cut,
                             char from[RUN_ADDRESS_MAX],
                             int* error) noexcept {
    if (count != nullptr) *count = 0;
    if (cut != nullptr) *cut = false;
    if (from != nullptr) *from = '\0';
    if (into == nullptr && size != 0) return invalid(error);
    return with<udp>(s, error, [&](net::udp_socket& socket) {
        const net::udp_socket::received got = socket.receive({into, size});
        if (count != nullptr) *count = got.size;
        if (cut != nullptr) *cut = got.cut;
        if (from != nullptr) copy_address(got.from.to_string(), from);
    });
}

run_status_t run_socket_set_timeout(run_socket_t* s, int64_t timeout_ns) noexcept {
    return with<any>(s, nullptr, [&](auto& socket) {
        using clock = std::chrono::steady_clock;
        if (timeout_ns == RUN_FOREVER) return socket.clear_deadline();
        const clock::time_point now = clock::now();
        const auto most = clock::time_point::max() - now;
        const auto timeout = std::chrono::nanoseconds(std::max<int64_t>(timeout_ns, 0));
        socket.set_deadline(timeout < most ? now + timeout : clock::time_point::max());
    });
}

run_status_t run_socket_address(run_socket_t* s, bool of_peer, char address[RUN_ADDRESS_MAX], int* error) noexcept {
    if (address == nullptr) return invalid(error);
    *address = '\0';
    return with<any>(s, error, [&]<typename T>(T& socket) {
        if constexpr (std::is_same_v<T, net::unix_stream>) {
            copy_address((of_peer ? socket.remote_address() : socket.local_address()).to_string(), address);
        } else if constexpr (std::is_same_v<T, net::unix_listener>) {
            if (of_peer) throw std::system_error(ENOTCONN, std::generic_category());
            copy_address(socket.local_address().to_string(), address);
        } else if constexpr (std::is_same_v<T, net::tcp_listener>) {
            if (of_peer) throw std::system_error(ENOTCONN, std::generic_category());
            copy_address(socket.local_endpoint().to_string(), address);
        } else {
            copy_address((of_peer ? socket.remote_endpoint() : socket.local_endpoint()).to_string(), address);
        }
    });
}

int run_socket_fd(run_socket_t* s) noexcept {
    if (s == nullptr) return -1;
    return std::visit([](auto& socket) { return socket.is_open() ? socket.native_handle() : -1; }, s->of);
}

run_status_t run_socket_close(run_socket_t* s) noexcept {
    return with<any>(s, nullptr, [](auto& socket) { socket.close(); });
}

void run_socket_free(run_socket_t* s) noexcept { delete s; }

run_status_t run_watch_make(int fd, run_watch_t** made, int* error) noexcept {
    if (made == nullptr) return invalid(error);
    *made = nullptr;
    return guarded_net_call(error, [&] { *made = watch(fd); });
}

void run_watch_free(run_watch_t* watch) noexcept { delete watch; }

run_status_t run_wait_fd(int fd, unsigned events, int64_t timeout_ns, unsigned* ready, int* error) noexcept {
    if (ready != nullptr) *ready = 0;
    if (events == 0 || (events & ~3U) != 0) return invalid(error);
    weft::fd_events found = weft::fd_events::none;
    const run_status_t status = guarded_net_call(error, [&] {
        const weft::watched_fd watched(fd);
        const auto what = static_cast<weft::fd_events>(events);
        if (timeout_ns == RUN_FOREVER) {
            found = watched.wait(what);
        } else {
            found = watched.wait_for(what, std::chrono::nanoseconds(std::max<int64_t>(timeout_ns, 0)));
        }
    });
    if (status != RUN_OK) return status;
    if (ready != nullptr) *ready = static_cast<unsigned>(found);
    if (found != weft::fd_events::none) return RUN_OK;
    return timeout_ns <= 0 ? RUN_WOULD_BLOCK : RUN_TIMEOUT;
}
