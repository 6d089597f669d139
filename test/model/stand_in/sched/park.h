// park.h: stands in for src/sched/park.h in a model: green threads without stacks and queues.
//
// In a model a green thread is a thread of the checker. So is the rest of its M, which it leaves
// behind when it parks. The rest does what must follow once the green thread's registers are saved
// (finish_switch), while the green thread may already run elsewhere. A run queue is a hand-over
// that orders like a release and an acquire, without a step of its own. A pushed green thread may
// run at once or much later, because the checker picks any thread that can run.
//
// See: test/model/green.h, which compiles src/wait/wait.cc and src/sched/park.cc against this.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/list.h"
#include "sched/timer_queue.h"

namespace weft::detail {

// Passes what one thread has done and seen to another.
class hand_over {
public:
    void give() {
        rl::thread_info_base& me = *rl::ctx().threadx_;
        me.own_acq_rel_order_ += 1;
        for (rl::thread_id_t i = 0; i != rl::ctx().get_thread_count(); ++i) raise(seen_[i], me.acq_rel_order_[i]);
    }

    void take() {
        rl::thread_info_base& me = *rl::ctx().threadx_;
        me.own_acq_rel_order_ += 1;
        for (rl::thread_id_t i = 0; i != rl::ctx().get_thread_count(); ++i) raise(me.acq_rel_order_[i], seen_[i]);
    }

private:
    static void raise(rl::timestamp_t& to, rl::timestamp_t from) {
        if (from > to) to = from;
    }

    static constexpr int threads_max = 16;
    rl::timestamp_t seen_[threads_max] = {};
};

// One thread of the checker, which sleeps until it is called. Calls are kept, so none is lost.
class sleeper {
public:
    void sleep() {
        if (!called_) {
            thread_ = rl::ctx().current_thread();
            asleep_ = true;
            static_cast<void>(rl::ctx().park_current_thread(false, false, false, $));
        }
        called_ = false;
        what_.take();
    }

    void call() {
        WEFT_ASSERT(!called_);
        what_.give();
        called_ = true;
        if (!asleep_) return;
        asleep_ = false;
        rl::ctx().unpark_thread(thread_, false, $);
    }

private:
    hand_over what_;
    rl::thread_id_t thread_ = 0;
    bool asleep_ = false;
    bool called_ = false;
};

struct scheduler;
class cancel_context;

namespace trait {
inline constexpr uint8_t ambient = 4;
}  // namespace trait

enum class g_state : uint8_t { idle, runnable, running, in_call, waiting, dead };

inline std::ostream& operator<<(std::ostream& to, g_state state) { return to << static_cast<int>(state); }

struct G {
    guarded<int> registers = 0;  // touched when they are saved and when they are restored
    guarded<g_state> state = g_state::running;
    wait_reason reason = wait_reason::none;
    waiter* waiting = nullptr;
    int64_t since_ns = 0;
    uint16_t last_p = 0;
    uint8_t traits = 0;
    cancel_context* ambient = nullptr;
    scheduler* home = nullptr;
    G* next = nullptr;
    G* behind = nullptr;
    sleeper turn;

    void set_state(g_state from, g_state to) {
        WEFT_ASSERT(state == from);
        state = to;
    }

    // It is on a run queue, and may run from here on.
    void queued() {
        WEFT_ASSERT(state == g_state::runnable);
        turn.call();
    }
};

struct after_switch {
    enum class kind : uint8_t { nothing, requeue, park, park_claimable, park_claimable_many, die };
    kind what = kind::nothing;
    uint32_t bits = 0;

    union {
        guarded_word* lock = nullptr;
        const held_lock* locks;
    };

    claim_word* claim = nullptr;
    G* g = nullptr;
};

struct run_queue {
    static constexpr uint32_t capacity = 4;

    static bool push(G* g) {
        g->queued();
        return true;
    }

    static uint32_t pop_half(G** /*half*/) { return 0; }
};

struct counter {
    void add(uint64_t /*n*/ = 1) {}
};

struct P {
    timer_queue timers;
    run_queue queue;
    int64_t now_ns = 1;
    uint32_t index = 0;

    struct {
        counter parks, overflows, timers_fired;
    } count;
};

// Every choice is a branch of the search.
struct any_choice {
    explicit any_choice(uint64_t /*seed*/ = 0) {}

    static uint32_t below(uint32_t n) { return n < 2 ? 0 : rl::rand(n); }
};

struct M {
    any_choice random;
    G* g = nullptr;
    P* p = nullptr;
    scheduler* home = nullptr;
    after_switch after;
    sleeper rest;         // runs on the M once its green thread has left
    bool resting = true;  // nothing runs on the M
    bool ends = false;
    sleeper* awaits_rest = nullptr;
};

struct idle_state {};

// For models of waits for files: adds d to the poller of the runtime.
class poll_desc;
int add_to_own_poller(poll_desc& d) noexcept;

inline constexpr uint32_t procs_max = 1024;

struct processors {
    P* at = nullptr;

    P& operator[](uint32_t index) const { return at[index]; }

    static uint32_t in_use() { return 1; }
};

struct scheduler {
    idle_state idle;
    processors ps;

    struct {
        template <typename... Order>
        static bool load(Order... /*order*/) {
            return false;
        }
    } cancelling;

    struct {
        template <typename... Order>
        static void fetch_add(int /*n*/, Order... /*order*/) {}
    } external_parks;

    struct {
        static int add(scheduler& /*s*/, poll_desc& d) noexcept { return add_to_own_poller(d); }
    } io;

    // It lives as long as the suite.
    static void pin() {}

    static void unpin() {}

    struct {
        static void push(G* g) { g->queued(); }

        static void push(fifo<G>& batch) {
            while (G* g = batch.pop_front()) g->queued();
        }
    } global;
};

inline bool is_from_before_fork(const scheduler& /*s*/) noexcept { return false; }

// For models of what plain threads start.
scheduler& pin_default_scheduler();

// A timer was added: the thread that plays the M which will fire it may run now.
void leaves_timer() noexcept;

inline void after_push(scheduler& /*s*/, const idle_state& /*idle*/) noexcept { leaves_timer(); }

inline void wake_for_outside(scheduler& /*s*/, uint32_t /*preferred*/) {}

inline void push_next(M* /*m*/, G* g) { g->queued(); }

inline void push_last(M* /*m*/, G* g) { g->queued(); }

void overflow(scheduler& s, P* p, G* g) noexcept;
void push_outside(G* g) noexcept;
void ready_g_outside(G* g) noexcept;
uint32_t fire_timers(M* m, timer_queue& q, int64_t now_ns) noexcept;
void end_timers(timer_queue& q) noexcept;

inline void ready_g_inside(M* m, G* g) noexcept {
    g->set_state(g_state::waiting, g_state::runnable);
    push_next(m, g);
}

inline void ready_g_last(M* m, G* g, int64_t now_ns) noexcept {
    g->since_ns = now_ns;
    g->set_state(g_state::waiting, g_state::runnable);
    push_last(m, g);
}

}  // namespace weft::detail
