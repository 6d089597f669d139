// after_func.cc: timers that call a function. See timer_state.h.
#include <new>
#include <stdexcept>

#include <weft/go.h>

#include "base/assert.h"
#include "sched/park.h"
#include "time/timer_state.h"

namespace weft::detail {

namespace {

// A handle of the timer.
using closure = timer_state*;

constexpr entry_type call_entry = {
    [](void* where) {
        timer_state& t = **static_cast<closure*>(where);
        t.function->call(timer_function(t));
        t.channel().drop();
    },
    [](void* where) noexcept { (**static_cast<closure*>(where)).channel().drop(); },
    sizeof(closure),
    alignof(closure),
};

}  // namespace

timer_place prepare_call(timer_state& t) {
    const spawning made = spawn_begin(nullptr, nullptr, call_entry, t.made_at);
    ::new (made.closure) closure(&t);
    tell_released(&made.g->id);  // g_main acquires it: the thread that starts g is another
    return {made.g->home, made.g};
}

void give_back_call(G* g) noexcept { spawn_abandon(g); }

void start_call(M* m, timer_state& t, int64_t now_ns) noexcept {
    G* g = t.starts;
    t.starts = nullptr;
    if (t.keeps_itself) {
        t.keeps_itself = false;  // g takes over that handle
    } else {
        t.channel().retain();
    }
    t.channel().lock.unlock();
    g->since_ns = now_ns;
    g->set_state(g_state::dead, g_state::runnable);
    m->p->count.spawned.add();
    push_last(m, g);
}

void throw_period_too_short() { throw std::invalid_argument("weft: the period of a ticker must be greater than zero"); }

void fatal_empty_timer(const char* what) noexcept { fatal("%s; assign a new one first", what); }

}  // namespace weft::detail
