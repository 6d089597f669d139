// stop_bridge.h: the std::stop_source of a context, which stops together with the waits.
//
// Its owners are the context, threads that are about to call request_stop(), and the timer of the
// context's deadline (time/stop_token.cc), which may outlive the context.
//
// Threads: see interrupt.h; add_owner and drop_owner: any thread.
#pragma once

#include <cstdint>
#include <stop_token>

#include "base/atomic.h"

namespace weft::detail {

struct stop_bridge {
    stop_bridge() = default;
    stop_bridge(const stop_bridge&) = delete;
    stop_bridge& operator=(const stop_bridge&) = delete;
    virtual ~stop_bridge() = default;

    // Called once, when the context ends.
    virtual void drop_timer() noexcept = 0;

    std::stop_source source;
    atomic<uint32_t> owners{1};
    stop_bridge* next = nullptr;  // in the chain of the only walk
};

// Requires: the caller owns b.
inline void add_owner(stop_bridge& b) noexcept { b.owners.fetch_add(1, relaxed); }  // relaxed: the caller owns it

inline void drop_owner(stop_bridge* b) noexcept {
    if (b->owners.fetch_sub(1, acq_rel) == 1) delete b;  // with the other owners'
}

}  // namespace weft::detail
