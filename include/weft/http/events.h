// events.h: a response that is a stream of events (server-sent events, as in the HTML standard),
// which browsers read with EventSource.
//
//     s.handle("GET /news", [&](http::request& r, http::response& w) {
//         auto stream = w.events();
//         for (;;) {
//             auto [chosen, text] = weft::select(…);      // of a channel, and of r.draining()
//             stream.send(*text, {.event = "news", .id = next_id()});
//         }
//     });
//
// A client that was disconnected connects again, and sends the last id that it got:
// r.header("Last-Event-ID"). When the client goes, the waits of the handler throw weft::cancelled.
// While nothing is sent, a comment is sent from time to time. So proxies keep the connection, and
// the server notices a client that has gone without a word: the handler is cancelled.
//
// Threads: any of the handler's green threads; calls exclude each other.
// See:     docs/http_events.md
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>

#include <weft/detail/require.h>
#include <weft/http/response.h>

namespace weft::http {

struct event_options {
    /// The silence after which a comment is sent. nanoseconds::max(): none is.
    std::chrono::nanoseconds ping_time = std::chrono::seconds(15);
};

/// What an event has besides its data.
struct event_fields {
    std::string_view event = {};  ///< its type; empty: "message"
    std::string_view id = {};     ///< the client repeats it in Last-Event-ID. Empty: the last one stays

    /// How long the client waits before it connects again, in milliseconds.
    std::optional<std::chrono::milliseconds> retry = {};
};

class event_stream {
public:
    /// Sends no more comments.
    ~event_stream();

    event_stream(const event_stream&) = delete;
    event_stream& operator=(const event_stream&) = delete;

    /// Sends one event. The client gets the data as it is, except that each line break becomes \n.
    /// Throws std::invalid_argument if a field has a line break, or the id a NUL; otherwise as
    /// response::write().
    void send(std::string_view data, const event_fields& f = {});

    /// Sends a comment, which clients ignore. Throws as send().
    void comment(std::string_view text);

private:
    friend class response;

    class state;

    event_stream(response& w, detail::exchange& of, const event_options& how);

    std::shared_ptr<state> state_;
};

}  // namespace weft::http
