// switch_hooks.h: the hooks of programs at switches: weft/observe/switch_hooks.h.
//
// A place of a static table holds a pair of functions. While a place is taken, each G has the bit
// special::hooked. It leads each switch into leave_special and enter_special, so a switch has no
// instruction more without hooks, as with special::traced (recording.h).
//
// hook_gate.h has the protocol by which calls stay balanced while hooks come and go, and M::hooked
// the bits of it. Gs keep special::hooked until no M has a bit, so no out is lost.
//
// Locks:   changing (procs), then freezing.
// Threads: call_…: m's own, in the runtime; add, remove: any that holds no lock.
// See:     docs/switch_hooks.md
#pragma once

#include <cstdint>

#include "sched/g.h"
#include "sched/m.h"

namespace weft::observe {
class switch_hooks;
}

namespace weft::detail {

struct scheduler;

inline constexpr unsigned hook_places = 8;

// A word of a G for each place: weft/observe/switch_hooks.h. Valid if the serial number is that of
// the hooks in the place.
struct hook_words {
    struct entry {
        uint64_t serial = 0;
        void* value = nullptr;
        bool inherited = false;
        void (*keep)(void* value) noexcept = nullptr;  // for a copy; nullptr: nothing
        void (*drop)(void* value) noexcept = nullptr;  // when it is replaced, or its G ends
    };

    hook_words() = default;

    // Those of others that are inherited.
    explicit hook_words(const hook_words& others, bool /*inherited*/) noexcept {
        for (unsigned i = 0; i < hook_places; ++i) {
            if (!others.of[i].inherited) continue;
            of[i] = others.of[i];
            if (of[i].keep != nullptr) of[i].keep(of[i].value);
        }
    }

    ~hook_words() {
        for (const entry& e : of) drop(e);
    }

    hook_words(const hook_words&) = delete;
    hook_words& operator=(const hook_words&) = delete;

    entry of[hook_places];

    static void drop(const entry& e) noexcept {
        if (e.drop != nullptr) e.drop(e.value);
    }
};

// Where a hook is, for words.
struct hook_identity {
    unsigned place;
    uint64_t serial;
};

[[nodiscard]] hook_identity identity_of(const observe::switch_hooks& hooks) noexcept;

// Whether the caller is a G, or a blocking call of one.
[[nodiscard]] bool is_in_green_thread() noexcept;

// Makes the words of that G. Throws std::bad_alloc.
void reserve_hook_words();

// Sets a word of the calling G, or of the one in whose blocking call it is made. out is called for
// the word before, if its in was called, and in for the new one. False: a plain thread. Throws
// std::bad_alloc.
[[nodiscard]] bool set_hook_word(unsigned place, const hook_words::entry& e);

// That of the same G; nullptr if it has no such word. serial: of the hooks.
[[nodiscard]] void* hook_word(unsigned place, uint64_t serial) noexcept;

// to runs on m from now on, or from no longer. m->g may be any G meanwhile.
[[gnu::cold]] void call_hooks_in(M* m, const G& to) noexcept;
[[gnu::cold]] void call_hooks_out(M* m, const G& from) noexcept;

// A new scheduler, which is registered and has no G.
void hook_scheduler(scheduler& s) noexcept;

// Whether the calling thread is in a hook.
[[nodiscard]] bool is_in_hook() noexcept;

// The caller is in a hook, and does what its text says.
[[noreturn, gnu::cold]] void fatal_in_hook(const char* what) noexcept;

// fork.h, F3.
void free_hooks_lock() noexcept;

}  // namespace weft::detail
