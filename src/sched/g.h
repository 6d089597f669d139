// g.h: G, a green thread.
//
// A G is 256 bytes from a type-stable pool: it is never freed while its runtime lives, only reused, so a stale pointer reads a
// G, if another one. It has no stack until it first runs. Its closure lies in the G if it fits.
//
// States, and who owns the G and its stack in each:
//
//             spawn               run                 exit
//     dead ──────────▶ runnable ◀─────▶ running ──────────▶ dead
//                          ▲    yield      │
//                     ready│               │park
//                          └── waiting ◀───┘
//
//   from → to           | who                          | how                                | afterwards
//   dead → runnable     | spawn_commit                 | store; nobody else has it          | a run queue owns it
//   runnable → running  | the M that took it           | store, then looks at special       | that M owns the stack
//   running → runnable  | the M's next G, after saving | store, release                     | a run queue owns it
//   running → waiting   | the M's next G, after saving | store, release; then unlocks       | the wait queue owns it
//   waiting → runnable  | ready(), claim won           | store                              | a run queue owns it
//   running → dead      | the M's next G               | store                              | the cache of dead Gs owns it
//
// (idle, a G never used, and in_call, in a declared blocking call, complete the list of states.) Only set_state() writes the word,
// and asserts where it starts.
//
// Because runnable and waiting are entered after the registers were saved, whoever sees one of them with acquire may look at the
// stack, if it has first set special::frozen and passed a heavy fence: a resume that starts later sees the bit and waits (dump.cc).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <weft/detail/source_location.h>
#include <weft/detail/wait.h>
#include <weft/go.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "context/context.h"
#include "context/eh_globals.h"
#include "context/sanitizer.h"

namespace weft::detail {

struct scheduler;
struct stack;
class cancel_context;
struct local_table;
struct label_block;

enum class g_state : uint8_t { idle, runnable, running, in_call, waiting, dead };

// Reasons why entering or leaving a G takes the slow way; tested as one word.
namespace special {
inline constexpr uint16_t frozen = 1;     // a dump is reading the stack; do not resume
inline constexpr uint16_t pinned = 2;     // runs on one M only
inline constexpr uint16_t own_fp = 4;     // carries floating-point control words
inline constexpr uint16_t canary = 8;     // its stack has no guard
inline constexpr uint16_t no_fence = 16;  // the system has no heavy fence: resume has to fence itself
inline constexpr uint16_t high = 32;  // the class it is queued in; neither: normal. See sched/lending.h for who sets it
inline constexpr uint16_t low = 64;
inline constexpr uint16_t shuffled = 128;  // RUN_DEBUG=random: where it is queued is drawn by lot
inline constexpr uint16_t own_high = 256;  // its own class, without what was lent to it
inline constexpr uint16_t own_low = 512;
inline constexpr uint16_t preempted = 1024;      // is on its way to the scheduler's queue, see preempt.h
inline constexpr uint16_t kept = 2048;           // was preempted: pinned until it next leaves its M by itself
inline constexpr uint16_t interruptible = 4096;  // in code that a signal may interrupt anywhere
inline constexpr uint16_t holds = 8192;          // mutexes of the system: see debug/held.h
inline constexpr uint16_t all_but_frozen = 0xfffe;

// Not simply queued in run_next or the ring.
inline constexpr uint16_t queued_apart = high | low | shuffled | preempted;
}  // namespace special

// What the rarely used parts of a G are used for: they are a cache line that most Gs never touch.
namespace trait {
inline constexpr uint8_t named = 1;            // name holds one; else it is what is left of an earlier life
inline constexpr uint8_t closure_outside = 2;  // the closure is allocated, and closure_storage holds its address
inline constexpr uint8_t ambient = 4;          // runs in a context that may be cancelled; ambient says which
inline constexpr uint8_t locals = 8;           // has values of weft::local; locals says where
inline constexpr uint8_t contexts = 16;        // has had contexts on its stack, to which others may have links
inline constexpr uint8_t labelled = 32;        // has labels; labels says which
inline constexpr uint8_t recorded = 64;        // has a record as a holder of mutexes; its stack says which
inline constexpr uint8_t marked = 128;         // all of its closure is marked as preemptible

// What is left to be done when its function has returned.
inline constexpr uint8_t ends_slowly = closure_outside | locals | labelled | recorded | marked;
inline constexpr uint8_t ends_slowly_in_child = labelled;  // of fork: so that the end is noticed
}  // namespace trait

// Four cache lines. With a million Gs each costs a miss, so they are sorted by when they are needed: the first at every
// switch, the second when it parks and when it is made ready, the third at its start, the fourth hardly ever.
struct alignas(cache_line) G {
    // What a switch touches.
    run_context_t context{};      // sp is nullptr until the G first runs
    eh_state eh;                  // while it does not run
    atomic<uint16_t> special{0};  // owner sets all bits but frozen; and see the classes
    uint16_t last_p = 0;
    atomic<g_state> state{g_state::idle};
    uint8_t size_class = 0;  // of its stack
    wait_reason reason = wait_reason::none;
    uint8_t traits = 0;
    G* next = nullptr;  // in a list; guarded by the list's lock, or the owner's
    struct stack* stack = nullptr;

    // Who it is. Immutable while it lives, but for since, waiting and last_p.
    uint64_t id = 0;
    uint64_t parent = 0;  // id of the G that started it; 0: a plain thread did

    waiter* waiting = nullptr;  // from the start of a wait until the G runs again
    int64_t since_ns = 0;       // while waiting or runnable: since when, to the accuracy of the P's cached clock
    const entry_type* entry = nullptr;
    source_location where;
    scheduler* home = nullptr;
    G* behind = nullptr;  // in a long list: one that comes some places later, or nullptr. See link_ahead

    static constexpr std::size_t inline_closure_size = 64;
    static constexpr std::size_t inline_closure_align = 16;
    alignas(inline_closure_align) std::byte closure_storage[inline_closure_size];

    static constexpr std::size_t name_size = 32;
    char name[name_size] = {};          // inline: a core file may lack what a pointer points to
    uint64_t fp_control = 0;            // with special::own_fp
    cancel_context* ambient = nullptr;  // with trait::ambient
    local_table* locals = nullptr;      // with trait::locals
    label_block* labels = nullptr;      // with trait::labelled

    [[nodiscard]] bool started() const noexcept { return context.sp != nullptr; }

    // Its closure has not been called yet. For a G that is not running.
    [[nodiscard]] WEFT_NO_SANITIZE bool never_ran() const noexcept {
        // acquire: pairs with run_context_init
        return __atomic_load_n(&context.sp, __ATOMIC_ACQUIRE) == nullptr ||
               context.pc == reinterpret_cast<const void*>(&run_context_entry);
    }

    [[nodiscard]] bool closure_is_inline() const noexcept { return (traits & trait::closure_outside) == 0; }

    [[nodiscard]] void* closure() noexcept {
        void* where_it_is = closure_storage;
        if (!closure_is_inline()) std::memcpy(&where_it_is, closure_storage, sizeof(where_it_is));
        return where_it_is;
    }

    // Its closure lies at allocated, not in the G.
    void set_closure_outside(void* allocated) noexcept {
        traits |= trait::closure_outside;
        std::memcpy(closure_storage, &allocated, sizeof(allocated));
    }

    // What it is called; empty if nothing.
    [[nodiscard]] const char* name_or_empty() const noexcept { return (traits & trait::named) != 0 ? name : ""; }

    // Called by itself, or by who makes it. Cut to what there is room for.
    void set_name(std::string_view text) noexcept {
        traits &= static_cast<uint8_t>(~trait::named);
        const std::size_t length = std::min(text.size(), name_size - 1);
        if (length == 0) return;
        std::memcpy(name, text.data(), length);
        name[length] = '\0';
        traits |= trait::named;
    }

    void set_state(g_state from, g_state to) noexcept {
        WEFT_ASSERT(state.load(relaxed) == from);  // relaxed: the caller owns the G
        state.store(to, release);                  // pairs with dumps
    }
};

static_assert(sizeof(G) == 256, "an unstarted green thread costs 256 bytes plus its closure");

}  // namespace weft::detail
