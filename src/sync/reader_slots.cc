// reader_slots.cc: how many slots, and which the caller uses.
#include "sync/reader_slots.h"

#include <algorithm>
#include <bit>

#include "sched/switch.h"

namespace weft::detail {

namespace {

// Plain threads do not migrate, so a thread_local is safe.
constinit atomic<uint32_t> next_number{0};
constinit thread_local uint32_t number = UINT32_MAX;

[[gnu::noinline]] uint32_t number_of_thread() noexcept {
    if (number == UINT32_MAX) number = next_number.fetch_add(1, relaxed_count);
    return number;
}

}  // namespace

uint32_t slot_of_caller() noexcept {
    const M* m = current_g_m();
    return m == nullptr ? number_of_thread() : m->p->index;
}

uint32_t log2_slots_for_caller() noexcept {
    constexpr uint32_t least = 3;  // plain threads may use it too
    constexpr uint32_t most = 6;   // a writer visits every slot
    const M* m = current_g_m();
    if (m == nullptr) return least + 1;
    return std::clamp(static_cast<uint32_t>(std::bit_width(m->home->ps.in_use() - 1U)), least, most);
}

}  // namespace weft::detail
