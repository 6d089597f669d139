// switch_hooks.cc: see switch_hooks.h and weft/observe/switch_hooks.h.
#include "sched/switch_hooks.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include <weft/go.h>
#include <weft/observe/switch_hooks.h>

#include "base/assert.h"
#include "handoff/preempt.h"
#include "lifecycle/crash.h"
#include "os/os.h"
#include "per_g/spawn_resources.h"
#include "sched/hook_gate.h"
#include "sched/scheduler.h"
#include "sched/switch.h"
#include "sched/watched_bits.h"

namespace weft {

namespace detail {

struct hook_access {
    static hook_identity identity_of(const observe::switch_hooks& hooks) noexcept {
        return {hooks.place_, hooks.serial_};
    }
};

namespace {

constexpr int64_t nap_ns = 200'000;

struct hook_place {
    hook_gate gate;  // changed under changing
    // Written before the place becomes active.
    atomic<uint64_t> serial{0};
    observe::switch_hooks::function in = nullptr;
    observe::switch_hooks::function out = nullptr;
    void* argument = nullptr;
};

constinit ranked_lock<lock_rank::procs> changing;
constinit hook_place places[hook_places];
constinit uint64_t last_serial WEFT_GUARDED_BY(changing) = 0;

constexpr uint32_t bit_of(unsigned place) noexcept { return uint32_t{1} << place; }

void* word_of(const G& g, unsigned place, uint64_t serial) noexcept {
    if ((g.traits & trait::locals) == 0 || g.locals->words == nullptr) return nullptr;
    const hook_words::entry& e = g.locals->words->of[place];
    return e.serial == serial ? e.value : nullptr;
}

observe::switch_event event_of(const G& g, unsigned place) noexcept {
    const uint64_t serial = places[place].serial.load(relaxed);  // relaxed: the place is in use
    return {.green_thread = g.id, .name = g.name_or_empty(), .word = word_of(g, place, serial)};
}

// The calling G, or that in whose blocking call it is made; nullptr: neither.
G* caller_of(const M* m) noexcept {
    if (m == nullptr || m->in_hook) return nullptr;
    return m->g != nullptr ? m->g : m->lent_by;
}

// While one exists, the M looks like a plain thread to what a hook calls.
class hook_call {
public:
    explicit hook_call(M* m) noexcept : m_(m), g_(std::exchange(m->g, nullptr)) { m->in_hook = true; }

    ~hook_call() {
        m_->in_hook = false;
        m_->g = g_;
    }

    hook_call(const hook_call&) = delete;
    hook_call& operator=(const hook_call&) = delete;

private:
    M* m_;
    G* g_;
};

void call_out(M* m, const G& from, unsigned place) noexcept {
    const hook_place& p = places[place];
    {
        const hook_call calls(m);
        p.out(p.argument, event_of(from, place));
    }
    close_call(m->hooked, bit_of(place));
}

void call_in(M* m, const G& to, unsigned place) noexcept {
    const hook_place& p = places[place];
    if (!p.gate.enter(m->hooked, bit_of(place))) return;
    const hook_call calls(m);
    p.in(p.argument, event_of(to, place));
}

}  // namespace

void call_hooks_in(M* m, const G& to) noexcept {
    for (unsigned i = 0; i < hook_places; ++i) call_in(m, to, i);
}

void call_hooks_out(M* m, const G& from) noexcept {
    const uint32_t open = m->hooked.load(relaxed_own);
    for (unsigned i = hook_places; open != 0 && i-- > 0;) {
        if ((open & bit_of(i)) != 0) call_out(m, from, i);
    }
}

bool is_in_hook() noexcept {
    const M* m = current_m();
    return m != nullptr && m->in_hook;
}

void fatal_in_hook(const char* what) noexcept {
    fatal("a switch hook %s; hooks run inside the scheduler, so they may only note what they see: docs/switch_hooks.md",
          what);
}

hook_identity identity_of(const observe::switch_hooks& hooks) noexcept { return hook_access::identity_of(hooks); }

bool is_in_green_thread() noexcept { return caller_of(current_m()) != nullptr; }

void reserve_hook_words() { static_cast<void>(hook_words_of(*caller_of(current_m()))); }

bool set_hook_word(unsigned place, const hook_words::entry& e) {
    M* m = current_m();
    G* g = caller_of(m);
    if (g == nullptr) return false;
    hook_words::entry& word = hook_words_of(*g).of[place];
    m = current_m();  // read again: g may have been preempted
    const bool in_call = m->g == nullptr;
    if (!in_call) static_cast<void>(enter(m));  // with or without a P, nothing interrupts it
    if (has_open(m->hooked, bit_of(place))) call_out(m, *g, place);
    const hook_words::entry before = std::exchange(word, e);
    call_in(m, *g, place);
    if (!in_call) leave(m);
    hook_words::drop(before);
    return true;
}

void* hook_word(unsigned place, uint64_t serial) noexcept {
    const G* g = caller_of(current_m());
    return g == nullptr ? nullptr : word_of(*g, place, serial);
}

void free_hooks_lock() noexcept { changing.reset_after_fork(); }

namespace {

void set_hooked_everywhere(bool on) noexcept {
    const auto set = [](void* closure, scheduler& s) noexcept {
        if (!is_from_before_fork(s)) set_watched_bit(s, special::hooked, *static_cast<const bool*>(closure));
        return true;
    };
    visit_schedulers(set, &on);
}

bool any_place_taken() noexcept {
    return std::ranges::any_of(places, [](const hook_place& p) { return !p.gate.is_vacant(); });
}

// Whether an M has had an in of that place without its out.
bool is_open_anywhere(unsigned place) noexcept {
    struct question {
        unsigned place;
        bool open;
    } asked{place, false};

    const auto look = [](void* closure, scheduler& s) noexcept {
        auto& q = *static_cast<question*>(closure);
        if (is_from_before_fork(s)) return true;
        s.threads_lock.lock();
        for (M* m = s.all_ms; m != nullptr && !q.open; m = m->all_next) q.open = is_open(m->hooked, bit_of(q.place));
        s.threads_lock.unlock();
        return !q.open;
    };
    visit_schedulers(look, &asked);
    return asked.open;
}

void ask_all_to_yield() noexcept {
    const auto ask = [](void* /*closure*/, scheduler& s) noexcept {
        if (is_from_before_fork(s)) return true;
        for (uint32_t i = 0; i < s.ps.reach(); ++i) request_preempt(s, s.ps[i]);
        return true;
    };
    visit_schedulers(ask, nullptr);
}

// The caller, if it is a G, stays on its M, so its out is called here.
void close_own(unsigned place) noexcept {
    M* m = current_g_m();
    if (m == nullptr) return;
    static_cast<void>(enter(m));  // with or without a P, nothing interrupts it
    if (has_open(m->hooked, bit_of(place))) call_out(m, *m->g, place);
    leave(m);
}

// False: an out is to come after the deadline.
bool await_outs(unsigned place, int64_t deadline_ns) noexcept {
    for (;;) {
        close_own(place);
        if (!is_open_anywhere(place)) return true;
        if (os::monotonic_ns() >= deadline_ns) return false;
        ask_all_to_yield();
        os::sleep_ns(nap_ns);
        if (current_g_m() != nullptr) static_cast<void>(yield());
    }
}

// 0: no place is vacant.
uint64_t take_place(observe::switch_hooks::function in,
                    observe::switch_hooks::function out,
                    void* argument,
                    unsigned& place) noexcept {
    changing.lock();
    const bool is_first = !any_place_taken();
    place = 0;
    while (place < hook_places && !places[place].gate.is_vacant()) ++place;
    const uint64_t serial = place == hook_places ? 0 : ++last_serial;
    if (serial != 0) {
        hook_place& p = places[place];
        p.in = in;
        p.out = out;
        p.argument = argument;
        p.serial.store(serial, relaxed);  // relaxed: the next line publishes it
        p.gate.activate();
        if (is_first) set_hooked_everywhere(true);
    }
    changing.unlock();
    return serial;
}

void close_place(unsigned place) noexcept {
    changing.lock();
    places[place].gate.close();
    changing.unlock();
}

void free_place(unsigned place) noexcept {
    changing.lock();
    places[place].gate.vacate();
    if (!any_place_taken()) set_hooked_everywhere(false);
    changing.unlock();
}

}  // namespace

void hook_scheduler(scheduler& s) noexcept {
    changing.lock();
    if (any_place_taken()) set_watched_bit(s, special::hooked, true);
    changing.unlock();
}

}  // namespace detail

namespace observe {

static_assert(switch_hooks::most == weft::detail::hook_places);

switch_hooks::switch_hooks(function in, function out, void* argument) {
    if (in == nullptr || out == nullptr) {
        throw std::invalid_argument(
            "weft: a function of switch_hooks is a null pointer; give a function that does nothing");
    }
    serial_ = weft::detail::take_place(in, out, argument, place_);
    if (serial_ == 0) {
        throw std::length_error("weft: " + std::to_string(most) +
                                " switch_hooks exist, which is the maximum; remove one, or call several functions from "
                                "one");
    }
}

switch_hooks::~switch_hooks() { remove(); }

void switch_hooks::remove() noexcept {
    while (!remove_for(std::chrono::hours(1))) {}
}

bool switch_hooks::remove_for(std::chrono::nanoseconds timeout) noexcept {
    if (serial_ == 0) return true;
    if (weft::detail::is_in_hook()) weft::detail::fatal_in_hook("removed a hook");
    weft::detail::close_place(place_);
    const int64_t now_ns = weft::detail::os::monotonic_ns();
    const int64_t most_ns = weft::detail::never - now_ns;
    if (!weft::detail::await_outs(place_, now_ns + std::clamp<int64_t>(timeout.count(), 0, most_ns))) return false;
    weft::detail::free_place(place_);
    serial_ = 0;
    return true;
}

void switch_hooks::set_word(void* word, bool inherited) {
    if (!weft::detail::set_hook_word(place_, {.serial = serial_, .value = word, .inherited = inherited}))
        weft::detail::fatal("switch_hooks::set_word was called in a plain thread, which has no word");
}

void* switch_hooks::word() const noexcept { return serial_ == 0 ? nullptr : weft::detail::hook_word(place_, serial_); }

}  // namespace observe

}  // namespace weft
