// client.h: a NATS client for green threads, over libnats.
//
//     weft::nats::client c;                                         // nats://127.0.0.1:4222
//     c.publish("news.rain", "it rains");
//     weft::nats::message answer = c.request("time", "");
//
//     weft::nats::subscription s = c.subscribe("news.*");
//     while (std::optional<weft::nats::message> m = s.next()) use(m->data);
//
// libnats has threads of its own, which read the connection and call back. The callbacks only put
// messages into channels and never wait. Green threads receive from the channels. So a slow green
// thread never blocks a thread of libnats, and memory is bounded: core NATS delivers at most once,
// and messages that find the channel full are dropped and counted. For messages that must not be
// lost use JetStream: jetstream.h.
//
// The client connects again by itself, for ever. What is published meanwhile is kept, up to
// reconnect_buffer bytes, and sent then; a server that was killed may have lost what it had.
//
// See: docs/nats.md
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/chan.h>
#include <weft/detail/require.h>
#include <weft/nats/error.h>

namespace weft::nats {

namespace detail {
class connection;
class inbox;
}  // namespace detail

/// A message: any bytes.
struct message {
    std::string subject = {};
    std::string reply = {};  ///< where an answer goes; empty: none is expected
    std::string data = {};
    std::vector<std::pair<std::string, std::string>> headers = {};

    /// The first value of a header; empty without such a header. Names are as they were written.
    [[nodiscard]] std::string_view header(std::string_view name) const noexcept;
};

struct client_options {
    std::vector<std::string> servers = {"nats://127.0.0.1:4222"};  ///< "nats://…" or "tls://…", tried in any order
    std::string name = {};                                         ///< that the server shows
    std::string user = {};
    std::string password = {};
    std::string token = {};
    std::string credentials_file = {};  ///< of a user: JWT and seed
    std::string ca_file = {};           ///< PEM file with the authorities to trust, for TLS

    std::chrono::milliseconds connect_time = std::chrono::seconds(5);    ///< for each server
    std::chrono::milliseconds reconnect_wait = std::chrono::seconds(1);  ///< between attempts to connect again
    std::chrono::milliseconds ping_interval = std::chrono::seconds(20);  ///< two pings without an answer: disconnected
    std::chrono::nanoseconds request_time = std::chrono::seconds(5);     ///< for request(), flush() and JetStream
    int reconnect_buffer = 8 * 1024 * 1024;                              ///< bytes that are kept without a connection
};

/// What happens to the connection.
enum class connection_event : uint8_t { disconnected, reconnected, closed };

struct subscribe_options {
    std::string queue = {};       ///< a queue group: each message goes to one of its members
    std::size_t capacity = 1024;  ///< messages that are kept for next(); further ones are dropped
};

/// A subscription. Movable. Any number of green threads may call next() at once.
class subscription {
public:
    subscription(subscription&&) noexcept;
    subscription& operator=(subscription&&) noexcept;
    subscription(const subscription&) = delete;
    subscription& operator=(const subscription&) = delete;

    /// As close().
    ~subscription();

    /// The next message; waits for it. nullopt: closed. A cancellation point.
    [[nodiscard]] std::optional<message> next() const { return messages().recv(); }

    /// The same as a channel, for select.
    [[nodiscard]] const recv_chan<message>& messages() const noexcept;

    /// How many messages were dropped, because the channel was full.
    [[nodiscard]] uint64_t dropped() const noexcept;

    /// Unsubscribes, and closes the channel; what it has can still be received.
    void close() noexcept;

private:
    friend class client;

    explicit subscription(std::shared_ptr<detail::inbox> from) noexcept;

    std::shared_ptr<detail::inbox> from_;
};

/// A client: one connection. Any green or plain thread may use it, and any number at once. Copies
/// share the connection, which is closed with the last copy and the last subscription.
class client {
public:
    /// Connects. Throws std::system_error with could_not_connect or login_refused;
    /// std::invalid_argument for options that cannot be used; weft::cancelled, weft::timed_out.
    explicit client(client_options how = {});

    /// Sends a message. Returns when it is in a buffer: flush() waits until the server has it.
    /// Waits while the server does not read. Throws std::system_error, also for a malformed subject
    /// (bad_subject); std::invalid_argument for a header that has a line end or a zero byte.
    void publish(std::string_view subject, std::string_view data);
    void publish(const message& m);

    /// Sends a request, and waits for the first answer. Throws no_responders, request_timed_out,
    /// connection_lost; weft::cancelled, weft::timed_out.
    [[nodiscard]] message request(std::string_view subject, std::string_view data);
    [[nodiscard]] message request(const message& m);

    /// Answers a request. Throws std::invalid_argument if m expects no answer, and as publish().
    void respond(const message& m, std::string_view data);

    /// Waits until the server has all that was published before. Throws as request().
    void flush();

    /// Subscribes to a subject, of which parts may be * and the last >. When it returns, the server
    /// delivers what is published from then on by this client; call flush() before others publish.
    [[nodiscard]] subscription subscribe(std::string_view subject, const subscribe_options& how = {});

    /// What happens to the connection. The channel holds 16 events; further ones are dropped.
    [[nodiscard]] const recv_chan<connection_event>& events() const noexcept;

    /// A snapshot.
    [[nodiscard]] bool is_connected() const noexcept;

    [[nodiscard]] const client_options& options() const noexcept;

private:
    friend class jetstream;
    friend class pull_consumer;

    std::shared_ptr<detail::connection> connection_;
};

}  // namespace weft::nats
