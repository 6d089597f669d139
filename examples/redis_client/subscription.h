// subscription.h: messages that others publish: a green thread of its own receives them, for as long as there is somebody who wants them.
//
// Redis keeps no messages for who is not there. So when the connection is lost a subscriber has to know: there is a gap between `lost` and the next
// `subscribed`. The connection is made anew, after a pause that grows from one failure to the next.
//
// A receiver who is slow fills the channel; then nothing is read from the server any more, whose own limit (client-output-buffer-limit pubsub) ends it for us.
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
    std::string text;     // the message; or why the connection was lost
};

// Receives what is published on the channels, and sends it on. Returns when `to` is closed, else it ends only by a cancellation (weft::scope, weft::future).
void subscribe(const server& at, const std::vector<std::string>& channels, const weft::send_chan<event>& to);

}  // namespace redis_client
