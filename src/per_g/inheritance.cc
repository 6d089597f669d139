// inheritance.cc: see inheritance.h.
#include "per_g/inheritance.h"

#include <new>
#include <utility>

#include <weft/detail/spin_lock.h>

#include "sched/g.h"
#include "sched/priority_queues.h"
#include "sched/switch.h"
#include "stack/stack.h"

namespace weft {

namespace detail {

constinit atomic<bool> classes_used{false};

namespace {

struct record {
    spin_lock lock;
    // Guarded by lock.
    uint8_t generation = 1;
    bool lends = false;  // true: lent is valid
    priority lent = priority::normal;
    uint32_t held = 0;  // recorded mutexes
    G* g = nullptr;
    atomic<uint32_t>* waits_for = nullptr;

    uint32_t next_free = 0;  // guarded by registry.lock
};

struct registry {
    static constexpr uint32_t per_chunk = 1024;
    static constexpr uint32_t chunks_max = 1024;
    static constexpr uint32_t generation_bits = 8;
    static_assert(uint64_t{per_chunk} * chunks_max << generation_bits <= passed_by::normal,
                  "a number and a generation fit into one word");

    spin_lock lock;
    uint32_t made = 1;  // guarded by lock; number 0 means no record
    uint32_t free = 0;  // guarded by lock
    atomic<record*> chunks[chunks_max] = {};

    [[nodiscard]] record& at(uint32_t number) noexcept {
        return chunks[number / per_chunk].load(acquire)[number % per_chunk];  // pairs with take
    }

    // 0: none left.
    [[nodiscard]] uint32_t take() noexcept;
    void give(uint32_t number) noexcept;
};

constinit registry records;

// For debuggers: the constants of records, because lldb 14 cannot read static members.
enum class debugger_records : uint32_t {
    per_chunk = registry::per_chunk,
    chunks_max = registry::chunks_max,
    generation_bits = registry::generation_bits,
};
[[gnu::used]] constexpr auto keeps_debugger_records = debugger_records::per_chunk;  // without it the type is left out

uint32_t registry::take() noexcept {
    lock.lock();
    uint32_t number = free;
    if (number != 0) {
        free = at(number).next_free;
    } else if (made < per_chunk * chunks_max) {
        atomic<record*>& chunk = chunks[made / per_chunk];
        if (chunk.load(relaxed) == nullptr)
            chunk.store(new (std::nothrow) record[per_chunk], release);  // relaxed: locked
        if (chunk.load(relaxed_locked) != nullptr) number = made++;
    }
    lock.unlock();
    return number;
}

void registry::give(uint32_t number) noexcept {
    lock.lock();
    at(number).next_free = free;
    free = number;
    lock.unlock();
}

constexpr uint32_t number_of(holder_handle h) noexcept { return h >> registry::generation_bits; }

constexpr uint8_t generation_of(holder_handle h) noexcept { return static_cast<uint8_t>(h); }

// Holds the lock of the record for a handle. False if the handle's G has ended; holds nothing then.
class locked_record {
public:
    explicit locked_record(holder_handle h) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
        if (h == 0) return;
        record& r = records.at(number_of(h));
        r.lock.lock();
        if (r.g != nullptr && r.generation == generation_of(h)) {
            r_ = &r;
        } else {
            r.lock.unlock();
        }
    }

    ~locked_record() WEFT_NO_THREAD_SAFETY_ANALYSIS {
        if (r_ != nullptr) r_->lock.unlock();
    }

    locked_record(const locked_record&) = delete;
    locked_record& operator=(const locked_record&) = delete;

    explicit operator bool() const noexcept { return r_ != nullptr; }

    record* operator->() const noexcept { return r_; }

    record& operator*() const noexcept { return *r_; }

private:
    record* r_ = nullptr;
};

constexpr uint16_t queued_bits(priority c) noexcept {
    return c == priority::high ? special::high : c == priority::low ? special::low : 0;
}

constexpr uint16_t own_bits(priority c) noexcept {
    return c == priority::high ? special::own_high : c == priority::low ? special::own_low : 0;
}

}  // namespace

void free_inheritance_lock() noexcept { records.lock.reset_after_fork(); }

namespace {

void replace_bits(G& g, uint16_t mask, uint16_t set) noexcept {
    uint16_t seen = g.special.load(relaxed_cas);
    // relaxed: queued with the G
    while (!g.special.compare_exchange_weak(seen, static_cast<uint16_t>((seen & ~mask) | set), relaxed, relaxed)) {}
}

void set_queued_class(G& g, priority c) noexcept { replace_bits(g, special::high | special::low, queued_bits(c)); }

// Requires: r is locked.
priority due_class(const record& r) noexcept {
    const priority own = own_class(*r.g);
    return r.lends && above(r.lent, own) ? r.lent : own;
}

}  // namespace

priority own_class(const G& g) noexcept {
    const uint16_t bits = g.special.load(relaxed_own);
    if ((bits & special::own_high) != 0) return priority::high;
    return (bits & special::own_low) != 0 ? priority::low : priority::normal;
}

priority queued_class(const G& g) noexcept {
    const uint16_t bits = g.special.load(relaxed_hint);
    if ((bits & special::high) != 0) return priority::high;
    return (bits & special::low) != 0 ? priority::low : priority::normal;
}

void set_own_class(G& g, priority c) noexcept {
    if (c != priority::normal) classes_used.store(true, relaxed);  // relaxed: see classes_in_use
    const locked_record r(handle_of(&g));
    replace_bits(g, special::own_high | special::own_low, own_bits(c));
    set_queued_class(g, r ? due_class(*r) : c);
}

priority class_of_caller() noexcept {
    const M* m = current_g_m();
    return m == nullptr ? priority::normal : queued_class(*m->g);
}

holder_handle handle_of(const G* g) noexcept {
    return g != nullptr && (g->traits & trait::recorded) != 0 ? g->stack->holder : 0;
}

holder_handle handle_of_caller() noexcept {
    const M* m = current_g_m();
    if (m == nullptr) return 0;
    G* g = m->g;
    if ((g->traits & trait::recorded) != 0) return g->stack->holder;
    const uint32_t number = records.take();
    if (number == 0) return 0;
    record& r = records.at(number);
    r.lock.lock();
    r.g = g;
    const holder_handle handle = (number << registry::generation_bits) | r.generation;
    r.lock.unlock();
    g->stack->holder = handle;
    g->traits |= trait::recorded;
    return handle;
}

void count_held(holder_handle who, int change) noexcept {
    const locked_record r(who);
    if (!r) return;
    if (change > 0 || r->held != 0) r->held += static_cast<uint32_t>(change);  // 0: wrong G, see inheritance.h
    if (r->held == 0 && std::exchange(r->lends, false)) set_queued_class(*r->g, own_class(*r->g));
}

namespace {

// A G that is queued in a lower class than it is lent, with its runtime pinned.
struct raised {
    scheduler* home = nullptr;
    G* g = nullptr;
    priority before = priority::normal;
};

// Lends c to one G. Returns the holder that it waits for, to which c must be lent, too.
holder_handle lend_to_one(holder_handle who, priority c, raised& to_move) noexcept {
    const locked_record r(who);
    // A G that holds nothing would keep what it is lent.
    if (!r || r->held == 0 || !above(c, due_class(*r))) return 0;
    G* g = r->g;
    const priority before = queued_class(*g);
    r->lends = true;
    r->lent = c;
    set_queued_class(*g, c);
    WEFT_FULL_FENCE();                                  // C2 of priority_queues.h
    if (g->state.load(relaxed) == g_state::runnable) {  // relaxed: the fence
        to_move = {g->home, g, before};
        g->home->pin();  // g has not ended, so its runtime is still there
    }
    if (r->waits_for == nullptr) return 0;
    const uint32_t bit = c == priority::high ? passed_by::high : passed_by::normal;
    return r->waits_for->fetch_or(bit, relaxed) & ~passed_by::any;  // relaxed: locked again, and compared
}

}  // namespace

void lend(holder_handle who, priority c) noexcept {
    while (who != 0) {
        raised to_move;
        who = lend_to_one(who, c, to_move);
        if (to_move.home == nullptr) continue;
        move_raised(*to_move.home, to_move.g, to_move.before);
        to_move.home->unpin();
    }
}

namespace {

void set_waits_for(holder_handle who, atomic<uint32_t>* holder) noexcept {
    if (const locked_record r(who); r) r->waits_for = holder;
}

}  // namespace

void set_waits_for(atomic<uint32_t>* holder) noexcept { set_waits_for(handle_of_caller(), holder); }

void waits_for_nothing(const G& g) noexcept { set_waits_for(handle_of(&g), nullptr); }

const G* whose(holder_handle h) noexcept {
    const locked_record r(h);
    return r ? r->g : nullptr;
}

const G* holder_awaited_by(const G& g) noexcept {
    holder_handle who = 0;
    if (const locked_record r(handle_of(&g)); r && r->waits_for != nullptr) {
        who = r->waits_for->load(relaxed) & ~passed_by::any;  // relaxed: compared by locked_record
    }
    return whose(who);
}

void drop_record(G& g) noexcept {
    const holder_handle handle = std::exchange(g.stack->holder, 0);
    g.traits &= static_cast<uint8_t>(~trait::recorded);
    record& r = records.at(number_of(handle));
    r.lock.lock();
    r.g = nullptr;
    r.waits_for = nullptr;
    r.held = 0;
    r.lends = false;
    if (++r.generation == 0) r.generation = 1;
    r.lock.unlock();
    records.give(number_of(handle));
}

}  // namespace detail

using namespace detail;

namespace this_g {

weft::priority priority() noexcept {
    const M* m = current_g_m();
    return m == nullptr ? weft::priority::normal : own_class(*m->g);
}

void set_priority(weft::priority p) noexcept {
    if (!is_class(p))
        fatal("this_g::set_priority(%u): this is not a priority class; use normal, high or low",
              static_cast<unsigned>(p));
    const M* m = current_g_m();
    if (m != nullptr) set_own_class(*m->g, p);
}

}  // namespace this_g

}  // namespace weft
