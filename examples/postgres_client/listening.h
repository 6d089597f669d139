// listening.h: LISTEN: receives notifications (NOTIFY) on a green thread of its own, as long as the
// program wants them.
//
// The server keeps no notifications for a listener without a connection. A listener is told about a
// lost connection: notifications between `lost` and the next `listening` are missing. A program
// that must know everything reads the tables then. The listener connects again after a pause that
// grows with each failure.
#pragma once

#include <string>
#include <vector>

#include <weft/chan.h>

#include "connection.h"

namespace postgres_client {

struct event {
    enum class kind { listening, notification, lost };

    kind what;
    std::string channel;  // of a notification
    std::string text;     // the payload, or why the connection was lost
};

// Returns when `to` is closed; otherwise only a cancellation ends it (weft::scope, weft::future).
void listen(const server& at, const std::vector<std::string>& channels, const weft::send_chan<event>& to);

}  // namespace postgres_client
