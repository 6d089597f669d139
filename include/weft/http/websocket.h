// websocket.h: WebSocket connections (RFC 6455): messages in both directions at any time.
//
//     s.handle("GET /echo", [](http::request&, http::response& w) {
//         auto socket = w.upgrade_websocket();
//         while (auto m = socket.read()) socket.write(m->data);
//     });
//
// The connection ends with the handler. Limits are on by default: the size of a message, the time
// for it, and pings to a silent peer. A browser's page of another site is refused.
//
// One green thread reads, and any number of them write, at the same time. Pings, close frames and
// the shutdown of the server are handled by read(): a handler that only writes should let another
// green thread read.
//
// shutdown() of the server sends close frames (1001) to all peers. read() then returns nullopt when
// the peer has answered, or after close_time.
//
// See: docs/websocket.md
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <weft/detail/require.h>
#include <weft/http/request.h>
#include <weft/http/response.h>

namespace weft::http {

/// Why a WebSocket connection ends: the codes of RFC 6455, 7.4, that programs use most.
namespace close_code {
inline constexpr uint16_t normal = 1000;
inline constexpr uint16_t going_away = 1001;
inline constexpr uint16_t protocol_error = 1002;
inline constexpr uint16_t unknown_data = 1003;
inline constexpr uint16_t none = 1005;      ///< the peer's close frame has no code. Never sent
inline constexpr uint16_t abnormal = 1006;  ///< there was no close frame. Never sent
inline constexpr uint16_t bad_payload = 1007;
inline constexpr uint16_t policy_error = 1008;
inline constexpr uint16_t too_big = 1009;
inline constexpr uint16_t internal_error = 1011;
}  // namespace close_code

struct websocket_options {
    std::size_t message_max = 1024 * 1024;  ///< bytes of a message, also when decompressed; else close (1009)
    std::chrono::nanoseconds message_time =
        std::chrono::seconds(30);  ///< for a message, once it has begun; else close (1008)

    /// The silence after which the peer is sent a ping, and in which it must then answer. Otherwise
    /// the connection ends. nanoseconds::max(): no pings.
    std::chrono::nanoseconds ping_time = std::chrono::seconds(20);
    std::chrono::nanoseconds write_time = std::chrono::seconds(30);  ///< for each 256 KiB
    std::chrono::nanoseconds close_time = std::chrono::seconds(5);   ///< for the peer's part of the end

    /// In order of preference. The first one that the client offers, too, is chosen.
    std::vector<std::string> subprotocols = {};

    /// Whether a page of that origin, like "https://example.com", may connect. Empty: only pages of
    /// the same host and port as the request's Host. Clients that are no browsers have no origin,
    /// and are not asked.
    std::function<bool(std::string_view origin, const request&)> allow_origin = {};

    /// Whether messages are compressed, if the client can (permessage-deflate, RFC 7692). Each
    /// message on its own. Do not compress secrets together with text of others.
    bool compress = false;
};

struct websocket_message {
    std::string data;
    bool is_text = true;  ///< then it is UTF-8
};

/// How a connection has ended.
struct websocket_end {
    uint16_t code = close_code::abnormal;
    std::string reason;  ///< the peer's text, or why this side has ended it
};

class websocket {
public:
    /// close(normal), unless it is closed; close(internal_error) when an exception passes. Waits
    /// for the peer, for at most close_time. No other green thread may still read or write.
    ~websocket();

    websocket(const websocket&) = delete;
    websocket& operator=(const websocket&) = delete;

    /// Waits for a whole message. nullopt: the connection has ended; end() says why. One green
    /// thread at a time. Throws std::bad_alloc, weft::cancelled, weft::timed_out; the last two end
    /// the connection.
    [[nodiscard]] std::optional<websocket_message> read();

    /// Sends a message; text must be UTF-8. Waits until the system has taken it. Returns false if
    /// the connection has ended, or a close frame was sent. Any number of green threads. Throws
    /// std::bad_alloc, weft::cancelled, weft::timed_out; the last two end the connection.
    bool write(std::string_view text);
    bool write_binary(net::const_buffer data);

    /// Sends a close frame, and waits for the peer's, for at most close_time. Drops messages that
    /// come until then. If another green thread reads, that one waits. Later calls do nothing.
    /// Throws std::invalid_argument if the code may not be sent, or the reason has more than 123
    /// bytes or is not UTF-8.
    void close(uint16_t code = close_code::normal, std::string_view reason = {});

    /// How the connection has ended; to be called after read() has returned nullopt. Also after
    /// close(), if no other green thread reads.
    [[nodiscard]] const websocket_end& end() const noexcept;

    /// The chosen subprotocol; empty: none.
    [[nodiscard]] const std::string& subprotocol() const noexcept;

private:
    friend class response;

    class state;

    websocket(response& w, detail::exchange& of, websocket_options how);

    std::unique_ptr<state> state_;
};

}  // namespace weft::http
