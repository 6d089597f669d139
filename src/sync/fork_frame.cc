// fork_frame.cc: see weft/detail/fork_frame.h.
#include <exception>
#include <new>
#include <utility>

#include <weft/detail/count_word.h>
#include <weft/detail/fork_frame.h>

#include "base/assert.h"
#include "context/fp_control.h"
#include "per_g/inheritance.h"
#include "sched/fork_list.h"
#include "sched/random.h"
#include "sched/simulation.h"
#include "sched/spawn.h"
#include "sched/switch.h"
#include "sync/unobserved.h"
#include "wait/interrupt.h"

namespace weft::detail {

// What a promoted frame and its green thread share.
struct promoted_fork {
    explicit promoted_fork(cancel_context* around) noexcept
        : context(is_context(around) ? around : nullptr, never), shielded(around == shield_context()) {
        running.increment();
    }

    cancel_context context;  // cancelled if the frame is dropped
    const bool shielded;     // from all contexts
    count_word running;
    std::exception_ptr error;  // written before running counts down
};

namespace {

[[noreturn, gnu::cold]] void fatal_foreign_fork() noexcept {
    fatal(
        "a weft::forked was joined or destroyed by another green thread than the one that made it; do not suspend a "
        "coroutine between fork and join");
}

void link_fork(fork_frame& f) noexcept {
    fork_frame* newest = *f.list;
    if (newest == nullptr) {
        f.newer = &f;
    } else {
        f.older = newest;
        f.newer = newest->newer;
        newest->newer = &f;
    }
    *f.list = &f;
}

// f is not the newest: it is promoted, or joined in another order than the reverse of the forks.
[[gnu::noinline, gnu::cold]] void unlink_from_middle(fork_frame& f) noexcept {
    const M* m = current_g_m();
    if (m != nullptr && f.list != &fork_list_of(*m->g)) fatal_foreign_fork();  // nullptr: in blocking()
    fork_frame* newest = *f.list;
    WEFT_ASSERT(newest != nullptr);
    if (newest->newer == &f) {
        newest->newer = f.newer;  // the oldest
        return;
    }
    f.older->newer = f.newer;
    f.newer->older = f.older;
}

void unlink_fork(fork_frame& f) noexcept {
    if (*f.list != &f) [[unlikely]]
        return unlink_from_middle(f);
    if (f.newer == &f) {
        *f.list = nullptr;
    } else {
        f.older->newer = f.newer;
        *f.list = f.older;
    }
}

// A promoted frame's green thread.
struct promoted_call {
    fork_frame* frame;

    void operator()() const noexcept {
        promoted_fork& p = *frame->promoted;
        {
            cancel_context mine(&p.context, never);
            const ambient_scope ambient(p.shielded ? shield_context() : &mine, !p.shielded);
            try {
                frame->run(*frame);
            } catch (...) {
                p.error = std::current_exception();
            }
        }
        p.running.decrement();  // F3
    }
};

constexpr const char* dropped =
    "an exception in a weft::forked was dropped, because the fork was not joined (an exception left the code that "
    "forked it, or join() is missing)";

// How many Gs the Ps of s can use at once, besides those that run.
uint32_t hungry(const scheduler& s) noexcept { return s.idle.ps.count() + s.idle.spinning.load(relaxed_hint); }

uint32_t queued_on(const P& p) noexcept { return p.queue.size() + p.high.size() + p.low.size(); }

// The usable bytes of a stack like s; 0: the default. s may be a big stack, or an OS thread's.
std::size_t size_like(const struct stack& s, const stack_pool& pool) noexcept {
    int size_class = s.size_class;
    if (s.end != nullptr) size_class = pool.class_for(s.size());
    if (size_class < 0) size_class = stack_classes - 1;
    return size_class == 0 ? 0 : pool.usable_size(size_class);
}

// Like its starter, a promoted call may need a large stack, and has its class.
bool has_options(const G& g, spawn_options& options) noexcept {
    options.priority = own_class(g);
    options.stack_size = size_like(*g.stack, g.home->stacks);
    options.own_fp_control = (g.special.load(relaxed_own) & special::own_fp) != 0;
    return options.priority != priority::normal || options.stack_size != 0 || options.own_fp_control;
}

// Promotes the oldest frame. False: no memory; it stays.
bool promote_oldest(const G& g, fork_frame*& newest) noexcept {
    fork_frame& f = *newest->newer;
    spawn_options options;
    const bool with_options = has_options(g, options);
    auto* p = new (std::nothrow) promoted_fork(f.context);
    if (p == nullptr) return false;
    spawning made{};
    try {
        made = spawn_begin(nullptr, with_options ? &options : nullptr, entry_type_of<promoted_call>, f.place);
    } catch (...) {
        delete p;
        return false;
    }
    if (options.own_fp_control) made.g->fp_control = read_fp_control();
    f.promoted = p;
    unlink_fork(f);
    ::new (made.closure) promoted_call{&f};
    spawn_commit_last(made.g);
    return true;
}

// The schedule decides whether forks run now or where they are joined.
[[gnu::cold]] void offer_in_simulation(M* m, fork_frame*& newest) noexcept {
    if (current_simulation() == nullptr || random_below(m, 2) == 0) return;
    const G& g = *m->g;
    while (newest != nullptr && promote_oldest(g, newest)) {}
}

// Promotes frames for Ps without work. The G may continue on another M.
[[gnu::noinline]] void offer_forks_slowly(M* m, fork_frame*& newest) noexcept {
    // Marked code must not allocate: weft/preemptible.h.
    if ((m->g->special.load(relaxed_own) & special::interruptible) != 0) return;
    if (simulates()) return offer_in_simulation(m, newest);
    const G& g = *m->g;
    const scheduler& s = *m->home;
    while (newest != nullptr && queued_on(*m->p) < hungry(s)) {
        if (!promote_oldest(g, newest)) return;
        m = current_g_m();
    }
}

[[gnu::always_inline]] inline void offer(M* m, fork_frame*& newest) noexcept {
    if (hungry(*m->home) != 0 || simulates()) [[unlikely]]
        offer_forks_slowly(m, newest);
}

[[noreturn, gnu::cold]] void fatal_joined_twice() noexcept {
    fatal("weft::forked::join() was called a second time; a fork is joined once, and returns its result then");
}

[[gnu::noinline]] cancel_context* context_of_fork(M* m) noexcept {
    return m->g->ambient == shield_context() ? m->g->ambient : heeded_context(m);
}

void wait_for_promoted(promoted_fork& p) noexcept { p.running.wait(wait_reason::scope_join); }

}  // namespace

void fork_begin(fork_frame& f, void (*run)(fork_frame&), source_location where) noexcept {
    f.run = run;
    f.place = where;
    f.promoted = nullptr;
    f.offer = &offer_forks_slowly;
    M* m = current_g_m();
    if (m == nullptr) [[unlikely]] {
        f.older = nullptr;
        f.list = &f.older;
        return link_fork(f);
    }
    f.context = (m->g->traits & trait::ambient) == 0 ? nullptr : context_of_fork(m);
    f.list = &fork_list_of(*m->g);
    link_fork(f);
    offer(m, *f.list);
}

bool fork_take_back(fork_frame& f) noexcept {
    if (f.list == nullptr) [[unlikely]]
        fatal_joined_twice();
    if (f.promoted != nullptr) [[unlikely]] {
        f.list = nullptr;
        return false;
    }
    unlink_fork(f);
    fork_frame** list = std::exchange(f.list, nullptr);
    if (*list != nullptr) {
        if (M* m = current_g_m()) offer(m, *list);
    }
    return true;
}

void fork_wait(fork_frame& f) {
    wait_for_promoted(*f.promoted);
    std::exception_ptr error = std::exchange(f.promoted->error, nullptr);
    delete f.promoted;
    if (error) std::rethrow_exception(std::move(error));
}

void fork_drop(fork_frame& f) noexcept {
    if (f.promoted == nullptr) return unlink_fork(f);
    promoted_fork& p = *f.promoted;
    p.context.cancel();
    wait_for_promoted(p);
    if (p.error) report_unobserved(p.error, dropped, p.context.deadline_ns());
    delete &p;
}

bool wants_fork() noexcept {
    M* m = current_g_m();
    if (m == nullptr) return false;
    if (simulates()) [[unlikely]]
        return current_simulation() != nullptr && random_below(m, 2) != 0;
    return hungry(*m->home) != 0;
}

unsigned procs_of_caller() noexcept {
    const M* m = current_g_m();
    return m == nullptr ? 1 : m->home->ps.in_use();
}

}  // namespace weft::detail
