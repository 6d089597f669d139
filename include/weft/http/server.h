// server.h: an HTTP server. Each connection is a green thread, which calls handlers one after the
// other. Under HTTP/2, each request is a green thread.
//
//     weft::http::server s;
//     s.handle("GET /users/{id}", [](http::request& r, http::response& w) {
//         w.send("user " + std::string(r.param("id")) + "\n");
//     });
//     weft::net::tcp_listener listener("127.0.0.1:8080");
//     s.serve(listener);                                  // returns after shutdown()
//
// Over TLS: s.serve(listener, [&](weft::net::tcp_stream c) {
//     return weft::tls::stream::server(std::move(c), context); });
//
// Times. Each step has a limit of its own, which a client cannot extend by single bytes:
//
//      ┌──────── idle_time ────────┐┌───── header_time ─────┐┌─── body_time ───┐┌─ write_time ─┐
//   ───┴── silent ── first byte ───┴┴── … the empty line ───┴┴── … 256 KiB ────┴┴── … 256 KiB ─┴──
//            closed                        408                     408             cut off
//
// body_time and write_time are for each 256 KiB. Of a body only the time counts in which the
// handler waits for it.
//
// See: docs/http.md
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/detail/require.h>
#include <weft/detail/time_point.h>
#include <weft/http/detail/transport.h>
#include <weft/http/error.h>
#include <weft/http/request.h>
#include <weft/http/response.h>

namespace weft::http {

namespace detail {
class server_state;
}  // namespace detail

/// Called for each request, by the green thread of its connection, or of the request under HTTP/2.
/// It may be called by several at once.
using handler = std::function<void(request&, response&)>;

/// Called around handlers, also where no pattern fits, or the target is malformed (path() is then
/// empty). It calls next, or answers itself.
using middleware = std::function<void(request&, response&, const handler& next)>;

/// One answered or refused request, for an access log. The views live as long as the call.
struct access_entry {
    std::string_view peer;            ///< as request::peer()
    std::string_view request_line;    ///< "GET / HTTP/1.1", as far as it was read; may contain any byte
    unsigned status = 0;              ///< 499: there was no response, because the client had gone
    uint64_t body_bytes = 0;          ///< of the response, that were sent
    std::chrono::nanoseconds took{};  ///< from the request's first byte
};

struct server_options {
    std::size_t header_max = 8 * 1024;     ///< bytes of a request's header, else 431; of its trailers, else 400
    uint64_t body_max = 1024 * 1024;       ///< bytes of a request's body, else 413; see request::set_body_max()
    std::size_t connections_max = 10'000;  ///< open connections; others get 503

    /// Whether clients may use HTTP/2, if the library is built with it: see server::protocols().
    bool http2 = true;
    std::size_t http2_streams_max = 100;  ///< requests at a time on a connection of HTTP/2; others are refused

    std::chrono::nanoseconds header_time = std::chrono::seconds(10);  ///< also for a TLS handshake; else 408
    std::chrono::nanoseconds body_time = std::chrono::seconds(30);    ///< for each 256 KiB; else 408
    std::chrono::nanoseconds idle_time = std::chrono::seconds(60);    ///< between two requests
    std::chrono::nanoseconds write_time = std::chrono::seconds(30);   ///< for each 256 KiB
    std::chrono::nanoseconds handler_time{0};                         ///< its waits then end; else 503. 0: no limit

    /// Whether a request is cancelled when its client closes the connection. A client that closes
    /// only its sending side cannot be told from one that has gone.
    bool cancel_if_client_gone = true;

    /// Called after each request whose header was complete or refused, by its green thread. An
    /// exception from it ends the connection.
    std::function<void(const access_entry&)> access_log = {};

    /// Called with an exception that has left a handler, and with the request. The client gets 500.
    /// Not for failure, nor for weft::timed_out and std::bad_alloc: the client gets 503 for these.
    /// Empty: a line on stderr.
    std::function<void(const std::exception_ptr&, const request&)> on_exception = {};
};

/// What a server has done so far. Each count is exact; together they are not a snapshot.
struct server_stats {
    uint64_t connections = 0;             ///< since the start
    uint64_t open = 0;                    ///< at the moment
    uint64_t turned_away = 0;             ///< because there were connections_max
    uint64_t requests = 0;                ///< also refused ones
    std::array<uint64_t, 6> responses{};  ///< by the first digit of the status
    uint64_t body_bytes_sent = 0;
};

class server {
public:
    /// Throws std::invalid_argument if a limit is 0 or negative, except body_max and handler_time,
    /// which may be 0.
    explicit server(server_options how = {});

    /// Cuts off what is left: shutdown() with no time.
    ~server();

    server(const server&) = delete;
    server& operator=(const server&) = delete;

    /// Requests that fit the pattern are for h. Not after the first serve(). Patterns:
    ///
    ///   "GET /users/{id}"     one segment, as r.param("id"). GET is also for HEAD.
    ///   "/files/{path...}"    any method; the rest of the path, which may be empty
    ///   "/static/"            as "/static/{...}": the rest has no name
    ///   "/{$}"                only "/"
    ///
    /// Of several that fit, the most specific one is chosen, in whatever order they were added.
    /// Throws std::invalid_argument, which says why: the pattern is malformed, or some request
    /// would fit it and an earlier one, and neither is more specific.
    void handle(std::string_view pattern, handler h);

    /// Puts m around all handlers. The first one added is the outermost. Not after the first
    /// serve().
    void use(middleware m);

    /// Accepts connections and serves them, until shutdown(), and returns when that has ended. Also
    /// returns after listener.close(); connections then continue. Several green threads may serve
    /// several listeners. If the caller is cancelled, it cuts off all connections, and throws
    /// weft::cancelled or weft::timed_out. Other errors of accept() end it with std::system_error.
    template <typename Listener>
    void serve(Listener& listener) {
        auto plain = [](auto stream) { return stream; };
        serve(listener, plain);
    }

    /// wrap turns an accepted stream into the one to use: into a tls::stream. Its handshake is made
    /// by the connection's green thread. If wrap throws a std::exception, that connection is
    /// closed, and a line printed.
    template <typename Listener, typename Wrap>
    void serve(Listener& listener, Wrap&& wrap) {
        std::remove_reference_t<Wrap>& by_reference = wrap;
        detail::acceptor_of<Listener, std::remove_reference_t<Wrap>> from(listener, by_reference);
        accept_from(from);
    }

    /// Serves one connection, and returns at its end. peer is what request::peer() says.
    template <typename Stream>
    void serve_connection(Stream stream, std::string peer = "-") {
        serve_one({std::make_unique<detail::transport_of<Stream>>(std::move(stream)), std::move(peer)});
    }

    /// Ends the server: closes the listeners and idle connections, and waits until requests in
    /// flight are answered. Connections that remain at the deadline are cut off: their handlers are
    /// cancelled. Returns their number. Any green thread, except one of a handler, which would wait
    /// for itself. Not interrupted. Later serve() calls return at once.
    template <typename Clock, typename Duration>
    std::size_t shutdown(std::chrono::time_point<Clock, Duration> deadline) {
        return end(weft::detail::deadline_at(deadline));
    }

    template <typename Rep, typename Period>
    std::size_t shutdown(std::chrono::duration<Rep, Period> time) {
        return end(weft::detail::deadline_after(time));
    }

    /// The application protocols that it speaks, for tls::server_options::protocols: "h2" (with
    /// HTTP/2) and "http/1.1". Without TLS, a client that begins with HTTP/2 is served, too.
    [[nodiscard]] std::vector<std::string> protocols() const;

    [[nodiscard]] server_stats stats() const noexcept;

private:
    void accept_from(detail::acceptor& from);
    void serve_one(detail::accepted one);
    std::size_t end(int64_t deadline_ns);

    std::unique_ptr<detail::server_state> state_;
};

}  // namespace weft::http
