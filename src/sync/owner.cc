// owner.cc: see weft/detail/owner.h.
#include <cinttypes>
#include <cstdio>

#include <weft/detail/owner.h>

#include "os/os.h"
#include "sched/switch.h"

namespace weft::detail {

namespace {

// Plain threads do not migrate, so a thread_local is safe. Trivial: usable during destruction.
constinit thread_local int64_t tid = 0;

[[gnu::noinline]] owner current_plain_owner() noexcept {
    if (tid == 0) tid = os::current_tid();
    return {&tid, -tid};
}

}  // namespace

owner current_owner() noexcept {
    const M* m = current_g_m();
    if (m == nullptr) return current_plain_owner();
    return {m->g, static_cast<int64_t>(m->g->id)};
}

owner_text::owner_text(int64_t number) noexcept : text{} {
    if (number > 0) {
        std::snprintf(text, sizeof(text), "green thread %" PRId64, number);
    } else {
        std::snprintf(text, sizeof(text), "a plain thread (tid %" PRId64 ")", -number);
    }
}

}  // namespace weft::detail
