// trim.cc: see trim.h.
#include "sched/trim.h"

#include <utility>

#include "sched/priority_queues.h"
#include "sched/recycle.h"
#include "sched/scheduler.h"

namespace weft::detail {

namespace {

constexpr uint32_t gs_for_one_stack = 8;  // Gs retired in the time of returning one stack

struct kept {
    fifo<struct stack> stacks;
    fifo<G> gs;
};

// p is idle. The idle lock is held.
void collect_locked(scheduler& s, P& p, kept& into) noexcept {
    while (struct stack* one = p.stacks.pop()) into.stacks.push_back(one);
    while (G* g = p.dead_gs.pop()) {
        if (struct stack* left = std::exchange(g->stack, nullptr)) {
            left->owner = nullptr;
            g->special.fetch_and(static_cast<uint16_t>(~special::canary), relaxed);  // relaxed: the P's, except frozen
            into.stacks.push_back(left);
        }
        g->behind = nullptr;
        into.gs.push_back(g);
    }
    s.stacks.unreserve(std::exchange(p.credits, 0));
}

// W2. The caches reach the pools before an idle P can run again, because the pools' reserve covers
// the caches of all Ps once.
void begin_round(scheduler& s) noexcept {
    s.trims = {.on = true};
    kept unused;
    const idle_guard held(s.idle);
    for (uint32_t i = 0; i < s.ps.reach(); ++i) {
        P& p = s.ps[i];
        if (!s.idle.ps.has(i)) {
            p.gives_back.store(true, relaxed);  // relaxed: ask_to_hurry publishes it
            ask_to_hurry(p);
            continue;
        }
        collect_locked(s, p, unused);
    }
    static_cast<void>(s.stacks.give(unused.stacks));  // we are its watcher
    static_cast<void>(s.gs.give(unused.gs));
}

}  // namespace

trimming trim_memory(scheduler& s, uint32_t most) noexcept {
    trim_round& round = s.trims;
    if (!round.on) begin_round(s);
    trimming done;
    if (!round.stacks_done) {
        done = s.stacks.trim(most);
        round.stacks_done = !done.more;
        round.over = round.over && (done.more || done.over);
    } else if (!round.gs_done) {
        done = s.gs.trim(most * gs_for_one_stack);
        round.gs_done = !done.more;
        round.over = round.over && (done.more || done.over);
    }
    done.more = !round.stacks_done || !round.gs_done;
    done.over = !done.more && round.over;
    round.on = done.more;
    return done;
}

void watch_memory(scheduler& s) noexcept { s.sysmon.watch_memory(); }

void give_caches_back(scheduler& s, P& p) noexcept {
    p.gives_back.store(false, relaxed);  // relaxed: a request, which only we clear
    empty_caches(s, p);
}

void give_stack(scheduler& s, struct stack* one) noexcept {
    if (s.stacks.give(one)) [[unlikely]]
        watch_memory(s);
}

void give_stacks(scheduler& s, fifo<struct stack>& batch) noexcept {
    if (s.stacks.give(batch)) [[unlikely]]
        watch_memory(s);
}

void give_gs(scheduler& s, fifo<G>& batch) noexcept {
    if (s.gs.give(batch)) [[unlikely]]
        watch_memory(s);
}

}  // namespace weft::detail
