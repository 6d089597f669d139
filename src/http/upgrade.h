// upgrade.h: what another protocol needs of a connection that it takes over.
#pragma once

#include <weft/http/detail/transport.h>

#include "http/input.h"

namespace weft::http::detail {

// Told that the server ends. drain() must not wait. Any thread.
class drain_hook {
public:
    drain_hook() = default;
    drain_hook(const drain_hook&) = delete;
    drain_hook& operator=(const drain_hook&) = delete;

    virtual void drain() noexcept = 0;

    // The time for that is over: the connection has been closed. Cancels what runs.
    virtual void cut_off() noexcept {}

protected:
    ~drain_hook() = default;
};

struct upgraded {
    transport& client;
    input& pending;  // what the client has sent after its request
};

}  // namespace weft::http::detail
