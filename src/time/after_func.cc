// after_func.cc: timers that call a function. See timer_state.h.
#include <new>
#include <stdexcept>

#include <weft/go.h>

#include "base/assert.h"
#include "context/sanitizer.h"
#include "per_g/labels.h"
#include "sched/park.h"
#include "sched/spawn.h"
#include "sched/switch.h"
#include "time/timer_state.h"

namespace weft::detail {

namespace {

// A handle of the timer.
using closure = timer_state*;

constexpr entry_type call_entry = {
    [](void* where) {
        timer_state& t = **static_cast<closure*>(where);
        tell_acquired(&t);  // what the thread that started the timer has done
        t.function->call(timer_function(t));
        t.channel().drop();
    },
    [](void* where) noexcept { (**static_cast<closure*>(where)).channel().drop(); },
    sizeof(closure),
    alignof(closure),
};

}  // namespace

timer_maker timer_maker::of_calls(const timed_function* f) noexcept {
    const M* m = current_g_m();
    if (f == nullptr || m == nullptr) return {};
    return {m->g->id, labels_of(*m->g)};
}

bool can_call(M* m) noexcept { return can_spawn_on_g0(m); }

void start_call(M* m, timer_state& t, int64_t now_ns) noexcept {
    G* g = spawn_on_g0(m, call_entry, t.made_at, t.maker.id);
    ::new (g->closure_storage) closure(&t);
    if (!t.maker.labels.empty()) replace_labels(*g, t.maker.labels);
    if (t.keeps_itself) {
        t.keeps_itself = false;  // g takes over that handle
    } else {
        t.channel().retain();
    }
    t.channel().lock.unlock();
    g->since_ns = now_ns;
    tell_released(&g->id);  // g_main acquires it
    g->set_state(g_state::dead, g_state::runnable);
    m->p->count.spawned.add();
    push_last(m, g);
}

void throw_period_too_short() { throw std::invalid_argument("weft: the period of a ticker must be greater than zero"); }

void fatal_empty_timer(const char* what) noexcept { fatal("%s; assign a new one first", what); }

}  // namespace weft::detail
