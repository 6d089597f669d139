// subscription.h: published messages of a Redis server, as a channel.
//
//     redis::subscription news(c, {.channels = {"news"}});
//     for (redis::event& e : news.events())
//         if (e.what == redis::event::kind::message) use(e.text);
//
// Redis keeps no messages for a subscriber without a connection. A subscriber is told: messages
// between `lost` and the next `subscribed` are missing. It connects again after a pause that grows
// with each failure. For messages that must not be lost, use a stream: consumer.h.
//
// A receiver that is slow fills the channel. The subscription then stops reading, until the
// server's own limit (client-output-buffer-limit pubsub) closes the connection.
//
// See: docs/redis.md
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <weft/chan.h>
#include <weft/detail/require.h>
#include <weft/future.h>
#include <weft/redis/client.h>

namespace weft::redis {

struct event {
    enum class kind : uint8_t { subscribed, message, lost };

    kind what = kind::message;
    std::string channel = {};  ///< of a message
    std::string pattern = {};  ///< that the channel matched, if it was subscribed by a pattern
    std::string text = {};     ///< the message, or why the connection was lost
};

struct subscription_options {
    std::vector<std::string> channels = {};
    std::vector<std::string> patterns = {};  ///< "news.*"
    std::size_t capacity = 64;               ///< events that the channel holds

    /// Without a message for that long, a PING finds out whether the server still answers.
    std::chrono::nanoseconds silence = std::chrono::seconds(15);
};

/// Receives on a green thread of its own and on a connection of its own, which does not count for
/// connections_max. Movable.
class subscription {
public:
    /// Starts the green thread, on the caller's runtime; does not wait for the connection. Throws
    /// std::invalid_argument if there is neither a channel nor a pattern, and as go().
    subscription(const client& of, subscription_options how);

    subscription(subscription&&) noexcept = default;
    subscription& operator=(subscription&&) = delete;

    /// As close().
    ~subscription();

    /// What has happened, in order. Closed by close().
    [[nodiscard]] const recv_chan<event>& events() const noexcept { return events_; }

    /// Ends it, and waits until the green thread has ended. Not interrupted.
    void close();

private:
    recv_chan<event> events_;
    future<void> receiving_;
};

}  // namespace weft::redis
