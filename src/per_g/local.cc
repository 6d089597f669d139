// local.cc: see local.h and weft/local.h.
#include "per_g/local.h"

#include <algorithm>
#include <memory>

#include <weft/detail/spin_lock.h>

#include "base/assert.h"
#include "handoff/blocking.h"
#include "sched/switch.h"

namespace weft::detail {

constinit std::atomic<bool> locals_exist{false};

namespace {

// Sorted by index, and walked under the lock: locals are few and rarely made.
constinit spin_lock keys_lock;
constinit local_key* all_keys = nullptr;  // guarded by keys_lock
constinit uint64_t last_serial = 0;       // guarded by keys_lock

constexpr local_type type_of_nothing = {nullptr, nullptr, nullptr};
constinit local_node being_made{type_of_nothing};

[[noreturn, gnu::cold]] void fatal_not_in_g() noexcept {
    if (lender_of(current_m()) != nullptr) {
        fatal(
            "weft::local was used inside weft::blocking(), where the OS thread belongs to the call; take a reference "
            "before the call");
    }
    fatal("weft::local was used in a plain thread, but only green threads have its values; use thread_local there");
}

G& user() noexcept {
    const M* m = current_g_m();
    if (m == nullptr) [[unlikely]]
        fatal_not_in_g();
    return *m->g;
}

bool has_locals(const G& g) noexcept { return (g.traits & trait::locals) != 0; }

}  // namespace

void free_locals_lock() noexcept { keys_lock.reset_after_fork(); }

local_key::local_key() noexcept {
    keys_lock.lock();
    index_ = 0;
    serial_ = ++last_serial;
    local_key** link = &all_keys;
    for (; *link != nullptr && (*link)->index_ == index_; link = &(*link)->next_) ++index_;
    next_ = *link;
    *link = this;
    keys_lock.unlock();
    locals_exist.store(true, relaxed);  // relaxed: see end_locals
}

local_key::~local_key() {
    keys_lock.lock();
    local_key** link = &all_keys;
    while (*link != this) link = &(*link)->next_;
    *link = next_;
    keys_lock.unlock();
}

local_node* local_find(const local_key& k) noexcept {
    const G& g = user();
    return has_locals(g) ? g.locals->find(k) : nullptr;
}

void local_announce(const local_key& k) {
    G& g = user();
    if (!has_locals(g)) {
        g.locals = new local_table;
        g.traits |= trait::locals;
    }
    g.locals->announce(k);
}

void local_give(const local_key& k, local_node* made) noexcept { user().locals->give(k, made); }

void local_give_up(const local_key& k) noexcept { user().locals->give_up(k); }

void local_drop(const local_key& k) noexcept {
    const M* m = current_g_m();
    if (m == nullptr || !has_locals(*m->g)) return;
    local_node* n = m->g->locals->find(k);
    if (n == nullptr) return;
    m->g->locals->unlink(n);
    n->type->destroy(n);
}

void destroy_locals() noexcept {
    const M* m = current_g_m();
    if (m == nullptr || !has_locals(*m->g)) return;
    G& g = *m->g;
    g.locals->destroy_all();
    delete g.locals;
    g.traits &= static_cast<uint8_t>(~trait::locals);
}

void local_table::reserve(uint32_t index) {
    if (index < size) return;
    const uint32_t wanted = std::max(2 * size, index + 1);
    auto** larger = new local_node* [wanted] {};
    std::copy_n(slots, size, larger);
    if (slots != own_slots) delete[] slots;
    slots = larger;
    size = wanted;
}

void local_table::announce(const local_key& k) {
    reserve(k.index_);
    if (slots[k.index_] == &being_made)
        fatal("the initial value of a weft::local uses the same weft::local; remove the recursion");
    slots[k.index_] = &being_made;
}

void local_table::give(const local_key& k, local_node* made) noexcept {
    WEFT_ASSERT(slots[k.index_] == &being_made);
    made->serial = k.serial_;
    made->index = k.index_;
    made->round = round;
    slots[k.index_] = made;
    append(made);
}

void local_table::give_up(const local_key& k) noexcept {
    WEFT_ASSERT(slots[k.index_] == &being_made);
    slots[k.index_] = nullptr;
}

void local_table::append(local_node* n) noexcept {
    n->older = newest;
    n->newer = nullptr;
    (newest != nullptr ? newest->newer : oldest) = n;
    newest = n;
}

void local_table::unlink(local_node* n) noexcept {
    (n->older != nullptr ? n->older->newer : oldest) = n->newer;
    (n->newer != nullptr ? n->newer->older : newest) = n->older;
    if (slots[n->index] == n) slots[n->index] = nullptr;
}

void local_table::destroy_all() noexcept {
    uint32_t left = 0;
    while (local_node* n = newest) {
        unlink(n);
        if (n->round == local_rounds) {
            ++left;
            continue;
        }
        round = n->round + 1;
        n->type->destroy(n);
    }
    if (left == 0) return;
    warn(
        "destructors of weft::local values made new values %u times in a row; %u values are not destroyed: break the "
        "cycle",
        local_rounds, left);
}

namespace {

bool inherits_any(const hook_words* words) noexcept {
    return words != nullptr && std::ranges::any_of(words->of, &hook_words::entry::inherited);
}

}  // namespace

local_table* local_table::copy() const {
    std::unique_ptr<local_table, void (*)(local_table*)> copies(nullptr, &discard_locals);
    for (const local_node* n = oldest; n != nullptr; n = n->newer) {
        // A value without its slot belonged to a destroyed local.
        if (n->type->copy == nullptr || slots[n->index] != n) continue;
        if (copies == nullptr) copies.reset(new local_table);
        copies->reserve(n->index);
        local_node* made = n->type->copy(n);
        made->serial = n->serial;
        made->index = n->index;
        copies->slots[n->index] = made;
        copies->append(made);
    }
    if (inherits_any(words)) {
        if (copies == nullptr) copies.reset(new local_table);
        copies->words = new hook_words(*words, true);
    }
    return copies.release();
}

hook_words& hook_words_of(G& g) {
    if (!has_locals(g)) {
        g.locals = new local_table;
        g.traits |= trait::locals;
    }
    if (g.locals->words == nullptr) g.locals->words = new hook_words;
    return *g.locals->words;
}

void discard_locals(local_table* t) noexcept {
    if (t == nullptr) return;
    t->destroy_all();
    delete t;
}

void forget_locals(local_table* t) noexcept {
    while (local_node* n = t->newest) {
        t->unlink(n);
        n->type->forget(n);
    }
    delete t;
}

}  // namespace weft::detail
