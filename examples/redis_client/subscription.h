// subscription.h: receives published messages, on a green thread of its own, as long as the program
// wants them.
//
// Redis keeps no messages for a subscriber without a connection. A subscriber is told about a lost
// connection: messages between `lost` and the next `subscribed` are missing. It connects again
// after a pause that grows with each failure.
//
// A slow receiver fills the channel. Then the subscriber stops reading, until the server's own
// limit (client-output-buffer-limit pubsub) closes the connection.
#pragma once

#include <string>
#include <vector>

#include <weft/chan.h>

#include "connection.h"

namespace redis_client {

struct event {
    enum class kind { subscribed, message, lost };

    kind what;
    std::string channel;  // of a message
    std::string text;     // the message, or why the connection was lost
};

// Receives what is published on the channels, and sends it to `to`. Returns when `to` is closed;
// otherwise only a cancellation ends it (weft::scope, weft::future).
void subscribe(const server& at, const std::vector<std::string>& channels, const weft::send_chan<event>& to);

}  // namespace redis_client
