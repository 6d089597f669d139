// stop_bridge.cc: see stop_bridge.h and interrupt.h.
#include "wait/stop_bridge.h"

#include "wait/interrupt.h"

namespace weft::detail {

void request_stop(stop_bridge& b) noexcept { b.source.request_stop(); }

stop_bridge* retain_in_chain(stop_bridge* b, stop_bridge* chain) noexcept {
    add_owner(*b);  // the context holds it
    b->next = chain;
    return b;
}

void request_stops(stop_bridge* chain) noexcept {
    while (chain != nullptr) {
        stop_bridge* b = chain;
        chain = b->next;
        request_stop(*b);
        drop_owner(b);
    }
}

void release_bridge(stop_bridge* b) noexcept {
    b->drop_timer();
    drop_owner(b);
}

}  // namespace weft::detail
