// ambient.cc: the caller's context.
#include <cstddef>
#include <exception>
#include <utility>

#include <weft/detail/cancel.h>

#include "sched/switch.h"
#include "wait/interrupt.h"

namespace weft::detail {

namespace {

// Only their addresses are used.
alignas(cancel_context) constinit std::byte shield[sizeof(cancel_context)] = {};
alignas(cancel_context) constinit std::byte stop[sizeof(cancel_context)] = {};

cancel_context* if_context(cancel_context* c) noexcept { return is_context(c) ? c : nullptr; }

// Safe, because plain threads do not migrate.
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

}  // namespace weft::detail
