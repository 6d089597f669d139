// ambient.cc: the caller's context, and std::stop_token from it.
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <stop_token>
#include <utility>

#include <weft/cancel.h>
#include <weft/detail/cancel.h>
#include <weft/timer.h>

#include "sched/switch.h"
#include "wait/interrupt.h"

namespace weft::detail {

// A context's std::stop_source. Threads about to call request_stop() share it, as they may outlive
// the context.
struct stop_bridge {
    std::stop_source source;
    atomic<uint32_t> owners{1};
    stop_bridge* next = nullptr;  // in the chain of the only walk
    weft::timer alarm;            // requests the stop at the deadline
};

namespace {

void drop_owner(stop_bridge* b) noexcept {
    if (b->owners.fetch_sub(1, acq_rel) == 1) delete b;  // with the other owners'
}

// Called by a timer. Owns the bridge until destroyed.
class deadline_passes {
public:
    explicit deadline_passes(stop_bridge& b) noexcept : bridge_(&b) {
        b.owners.fetch_add(1, relaxed);  // relaxed: the caller owns it
    }

    deadline_passes(deadline_passes&& other) noexcept : bridge_(std::exchange(other.bridge_, nullptr)) {}

    deadline_passes& operator=(deadline_passes&&) = delete;

    ~deadline_passes() {
        if (bridge_ != nullptr) drop_owner(bridge_);
    }

    void operator()() { bridge_->source.request_stop(); }

private:
    stop_bridge* bridge_;
};

stop_bridge* make_bridge(int64_t deadline_ns) {
    auto made = std::make_unique<stop_bridge>();
    const int64_t left = deadline_ns == never ? never : deadline_ns - now_ns();
    if (left <= 0) {
        made->source.request_stop();
    } else if (left != never) {
        made->alarm = after_func(std::chrono::nanoseconds(left), deadline_passes(*made));
    }
    return made.release();
}

// Only their addresses are used.
alignas(cancel_context) constinit std::byte shield[sizeof(cancel_context)] = {};
alignas(cancel_context) constinit std::byte stop[sizeof(cancel_context)] = {};

cancel_context* if_context(cancel_context* c) noexcept { return is_context(c) ? c : nullptr; }

// Plain threads do not migrate, so a thread_local is safe.
constinit thread_local cancel_context* of_thread = nullptr;

[[gnu::noinline]] cancel_context*& thread_ambient() noexcept { return of_thread; }

}  // namespace

cancel_context* shield_context() noexcept { return reinterpret_cast<cancel_context*>(shield); }

cancel_context* stop_context() noexcept { return reinterpret_cast<cancel_context*>(stop); }

bool is_context(const cancel_context* c) noexcept {
    return c != nullptr && c != shield_context() && c != stop_context();
}

cancel_context* ambient() noexcept {
    const M* m = current_g_m();
    if (m == nullptr) return if_context(thread_ambient());
    return (m->g->traits & trait::ambient) != 0 ? if_context(m->g->ambient) : nullptr;
}

enclosing enclosing_context() noexcept { return {heeded_context(current_g_m()), std::uncaught_exceptions()}; }

cancel_context* exchange_ambient(cancel_context* c, bool lies_on_stack) noexcept {
    const M* m = current_g_m();
    if (m == nullptr) return std::exchange(thread_ambient(), c);
    G* g = m->g;
    cancel_context* before = (g->traits & trait::ambient) != 0 ? g->ambient : nullptr;
    g->ambient = c;
    if (c != nullptr) {
        g->traits |= lies_on_stack ? uint8_t{trait::ambient | trait::contexts} : trait::ambient;
    } else {
        g->traits &= static_cast<uint8_t>(~trait::ambient);
    }
    return before;
}

void request_stop(stop_bridge& b) noexcept { b.source.request_stop(); }

stop_bridge* retain_in_chain(stop_bridge* b, stop_bridge* chain) noexcept {
    b->owners.fetch_add(1, relaxed);  // relaxed: the context holds it
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
    b->alarm = weft::timer();
    drop_owner(b);
}

}  // namespace weft::detail

namespace weft::this_g {

std::stop_token stop_token() {
    detail::cancel_context* context = detail::enclosing_context().context;
    if (context == nullptr) return {};
    return context->bridge(&detail::make_bridge).source.get_token();
}

}  // namespace weft::this_g
