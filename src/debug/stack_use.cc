// stack_use.cc: the known depth of stacks: see weft/debug.h and docs/stacks.md.
#include "debug/stack_use.h"

#include <cstddef>
#include <span>

#include <weft/debug.h>
#include <weft/runtime.h>

#include "lifecycle/crash.h"
#include "sched/freeze.h"
#include "sched/scheduler.h"
#include "sched/switch.h"

namespace weft {

namespace detail {

namespace {

constexpr int batch_size = 16;

WEFT_NO_SANITIZE void measure_one(scheduler& s, const G& g) noexcept {
    const g_state state = g.state.load(acquire);  // pairs with set_state: stack and context are as the G left them
    if (state != g_state::waiting && state != g_state::runnable) return;
    if (g.never_ran() || g.stack == nullptr) return;
    const struct stack* on = g.stack;
    while (on->continued() != nullptr) on = on->continued();
    if (on->end != nullptr) return;  // a thread's own
    std::size_t waiting = 0;
    if (on == g.stack) {
        waiting = static_cast<std::size_t>(on->high() - static_cast<const std::byte*>(g.context.sp));
    }
    const source_location where = g.where;  // read here, where it cannot race
    s.places.note(where, waiting, touched_bytes(*on));
}

void measure(scheduler& s, G* const* gs, int count) noexcept {
    const frozen still(gs, static_cast<uint32_t>(count));
    for (int i = 0; i < count; ++i) measure_one(s, *gs[i]);
}

}  // namespace

void measure_live(scheduler& s, report* of) noexcept {
    G* gs[batch_size];
    int count = 0;
    s.gs.for_each([&](G& g) {
        if (g.state.load(relaxed_hint) == g_state::dead) return;
        gs[count++] = &g;
        if (count < batch_size) return;
        if (of == nullptr || of->goes_on()) measure(s, gs, count);
        count = 0;
    });
    if (count != 0) measure(s, gs, count);
}

}  // namespace detail

std::size_t stack_use(std::span<stack_use_at> into) noexcept {
    const detail::M* m = detail::current_g_m();
    detail::scheduler* s = m != nullptr ? m->home : detail::pin_default_scheduler_if_any();
    if (s == nullptr) return 0;
    detail::measure_live(*s);
    const std::size_t count = s->places.copy(into);
    if (m == nullptr) s->unpin();
    return count;
}

std::size_t runtime::stack_use(std::span<stack_use_at> into) const noexcept {
    const detail::runtime_use s = use();
    if (s == nullptr) return 0;
    detail::measure_live(*s);
    return s->places.copy(into);
}

}  // namespace weft
