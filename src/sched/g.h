// g.h: G, a green thread.
//
// 256 bytes from a type-stable pool (g_pool.h). It gets a stack at its first run.
//
// States, and the owner of the G and its stack in each:
//
//             spawn               run                 exit
//     dead ──────────▶ runnable ◀─────▶ running ──────────▶ dead
//                          ▲    yield      │
//                     ready│               │park
//                          └── waiting ◀───┘
//
//    from → to           | by                           | how                            | new owner
//    dead → runnable     | spawn_commit                 | store; nothing else has it     | a run queue
//    runnable → running  | the M that took it           | store, then looks at special   | that M
//    running → runnable  | the M's next G, after saving | store, release                 | a run queue
//    running → waiting   | the M's next G, after saving | store, release; then unlocks   | the wait queue
//    waiting → runnable  | ready(), claim won           | store                          | a run queue
//    running → dead      | the M's next G               | store                          | the cache of dead Gs
//
// Also: idle (unused) and in_call (in a blocking call).
//
// Runnable and waiting are entered after the registers are saved. A thread that sees one of them
// with acquire may read the stack while the G is frozen (freeze.h).
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

// Reasons for the slow path of a switch; tested as one word.
namespace special {
inline constexpr uint16_t frozen = 1;     // do not resume: freeze.h
inline constexpr uint16_t pinned = 2;     // runs on one M only
inline constexpr uint16_t own_fp = 4;     // has floating-point control words
inline constexpr uint16_t canary = 8;     // its stack has no guard
inline constexpr uint16_t no_fence = 16;  // resume must fence
inline constexpr uint16_t high = 32;      // class of its queue: per_g/inheritance.h; neither bit: normal
inline constexpr uint16_t low = 64;
inline constexpr uint16_t shuffled = 128;  // RUN_DEBUG=random: queued at a random place
inline constexpr uint16_t own_high = 256;  // own class, without inheritance
inline constexpr uint16_t own_low = 512;
inline constexpr uint16_t preempted = 1024;      // on its way to the scheduler's queue: preempt.h
inline constexpr uint16_t kept = 2048;           // was preempted: pinned until it leaves its M by itself
inline constexpr uint16_t interruptible = 4096;  // a signal may interrupt it anywhere
inline constexpr uint16_t holds = 8192;          // holds system mutexes: per_g/held.h
inline constexpr uint16_t traced = 16384;        // its switches and wake-ups are recorded: recording.h
inline constexpr uint16_t hooked = 32768;        // its switches call hooks: switch_hooks.h
inline constexpr uint16_t all_but_frozen = 0xfffe;

// Set and cleared in all Gs by other threads, while they run.
inline constexpr uint16_t watched = traced | hooked;

// Reasons to queue it by push_apart.
inline constexpr uint16_t queued_apart = high | low | shuffled | preempted | traced;
}  // namespace special

// Rarely used parts that are in use.
namespace trait {
inline constexpr uint8_t named = 1;
inline constexpr uint8_t closure_outside = 2;  // closure_storage holds its address
inline constexpr uint8_t ambient = 4;
inline constexpr uint8_t locals = 8;
inline constexpr uint8_t contexts = 16;  // has had some on its stack; others may link to them
inline constexpr uint8_t labelled = 32;
inline constexpr uint8_t recorded = 64;  // has a record as a mutex holder: inheritance.h
inline constexpr uint8_t marked = 128;   // its whole closure is marked preemptible

// Work remains after its function has returned.
inline constexpr uint8_t ends_slowly = closure_outside | locals | labelled | recorded | marked;
inline constexpr uint8_t ends_slowly_in_child = labelled;  // in a fork child: makes the end visible
}  // namespace trait

// Four cache lines, sorted by use: at every switch, at park and ready, at the start, hardly ever.
struct alignas(cache_line) G {
    run_context_t context{};      // sp: nullptr until the first run
    eh_state eh;                  // while it does not run
    atomic<uint16_t> special{0};  // the owner sets all except frozen, watched and the class bits
    uint16_t last_p = 0;
    atomic<g_state> state{g_state::idle};
    uint8_t size_class = 0;  // of its stack
    wait_reason reason = wait_reason::none;
    uint8_t traits = 0;
    G* next = nullptr;  // guarded by the lock or owner of its list
    struct stack* stack = nullptr;

    // Immutable while it lives, except since_ns, waiting and last_p.
    uint64_t id = 0;
    uint64_t parent = 0;  // 0: a plain thread

    waiter* waiting = nullptr;  // from the start of a wait until it runs
    int64_t since_ns = 0;       // when it began to wait or be runnable, by the P's cached clock
    const entry_type* entry = nullptr;
    source_location where;
    scheduler* home = nullptr;
    G* behind = nullptr;  // see link_ahead

    static constexpr std::size_t inline_closure_size = 64;
    static constexpr std::size_t inline_closure_align = 16;
    alignas(inline_closure_align) std::byte closure_storage[inline_closure_size];

    static constexpr std::size_t name_size = 32;
    char name[name_size] = {};          // inline: core files may lack pointed-to memory
    uint64_t fp_control = 0;            // with special::own_fp
    cancel_context* ambient = nullptr;  // with trait::ambient
    local_table* locals = nullptr;      // with trait::locals
    label_block* labels = nullptr;      // with trait::labelled

    // Started while a simulation controlled its scheduler, if one still does.
    [[nodiscard]] bool is_simulated() const noexcept { return (special.load(relaxed_own) & special::shuffled) != 0; }

    [[nodiscard]] bool started() const noexcept { return context.sp != nullptr; }

    // Its closure was not called yet. Requires: not running.
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

    void set_closure_outside(void* allocated) noexcept {
        traits |= trait::closure_outside;
        std::memcpy(closure_storage, &allocated, sizeof(allocated));
    }

    [[nodiscard]] const char* name_or_empty() const noexcept { return (traits & trait::named) != 0 ? name : ""; }

    // Called by the G itself or its creator. Truncates to name_size - 1.
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
        if (sanitized && from != g_state::running) {
            const tsan_edge edge;      // what its maker or waker has done, the G sees
            state.store(to, release);  // as below
            return;
        }
        state.store(to, release);  // pairs with dumps
    }
};

static_assert(sizeof(G) == 256, "an unstarted green thread costs 256 bytes plus its closure");

}  // namespace weft::detail
