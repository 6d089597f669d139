// subscription.h: LISTEN: notifications of a PostgreSQL server, as a channel.
//
//     postgres::subscription orders(c, {.channels = {"orders"}});
//     for (postgres::event& e : orders.events())
//         if (e.what == postgres::event::kind::notification) use(e.text);
//
// The server keeps no notifications for a listener without a connection. A listener is told:
// notifications between `lost` and the next `listening` are missing. A program that must know
// everything reads its tables then. The listener connects again after a pause that grows with each
// failure.
//
// See: docs/postgres.md
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <weft/chan.h>
#include <weft/detail/require.h>
#include <weft/future.h>
#include <weft/postgres/client.h>

namespace weft::postgres {

struct event {
    enum class kind : uint8_t { listening, notification, lost };

    kind what = kind::notification;
    std::string channel = {};  ///< of a notification
    std::string text = {};     ///< the payload, or why the connection was lost
};

struct subscription_options {
    std::vector<std::string> channels = {};  ///< names as they are, with capital letters if they have some
    std::size_t capacity = 64;               ///< events that the channel holds; then the listener stops reading

    /// Without a notification for that long, a query finds out whether the server still answers.
    std::chrono::nanoseconds silence = std::chrono::seconds(15);
};

/// Receives on a green thread of its own and on a connection of its own, which does not count for
/// connections_max. Movable.
class subscription {
public:
    /// Starts the green thread, on the caller's runtime; does not wait for the connection. Throws
    /// std::invalid_argument if there is no channel, or a name has a zero byte, and as go().
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
    future<void> listening_;
};

}  // namespace weft::postgres
