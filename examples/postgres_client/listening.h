// listening.h: LISTEN: a green thread of its own receives what others NOTIFY, for as long as there is somebody who wants it.
//
// The server keeps no notifications for who is not there. So when the connection is lost a listener has to know: there is a gap between `lost` and the next
// `listening`, and whoever has to know all looks into the tables then. The connection is made anew, after a pause that grows from one failure to the next.
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
    std::string text;     // its payload; or why the connection was lost
};

// Returns when `to` is closed, else it ends only by a cancellation (weft::scope, weft::future).
void listen(const server& at, const std::vector<std::string>& channels, const weft::send_chan<event>& to);

}  // namespace postgres_client
