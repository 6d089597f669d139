// go.h: starts green threads; id, name and labels of the calling one.
//
// go(f) starts f as a green thread (a G) and returns at once. Before its first run a G costs 256
// bytes plus its closure; after that also a stack, of which only touched pages cost memory.
// Closures of up to 64 bytes are stored in the G; larger ones are allocated.
//
// Threads: any thread may call go(). A plain thread's Gs run on the default runtime: that of
// weft::main, or one started on first use.
// See: docs/green_threads.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include <weft/detail/require.h>
#include <weft/detail/source_location.h>
#include <weft/detail/wait.h>
#include <weft/error.h>
#include <weft/labels.h>
#include <weft/priority.h>

namespace weft {

/// How to start a green thread. Use designated initializers: weft::go({.name = "acceptor"}, f).
struct spawn_options {
    std::string_view name = {};  ///< shown in dumps and reports; copied, cut at 31 bytes
    std::size_t stack_size = 0;  ///< usable bytes; 0: the runtime's default. Rounded up to a size class
    /// This G changes rounding or exception masks (MXCSR, x87, FPCR); they migrate with it.
    bool own_fp_control = false;
    bool inherit_locals = false;  ///< starts with copies of the starter's copyable locals
    weft::priority priority = weft::priority::normal;
    bool preemptible = false;  ///< all its code may be interrupted anywhere; restrictions in weft/preemptible.h
    label_set labels = {};     ///< shown in dumps; added to those inherited from the starter
};

namespace detail {

struct G;
struct scheduler;

// What the runtime needs to know about a closure's type.
struct entry_type {
    void (*run)(void* closure);               // calls it, then destroys it
    void (*destroy)(void* closure) noexcept;  // destroys it without a call
    std::size_t size;
    std::size_t align;
    // For closures of the C interface, which begin with the address of a C function: does the
    // remaining work if that function ends its green thread from within. nullptr for others.
    void (*end_early)(void* closure) = nullptr;
};

template <typename F>
[[gnu::visibility("hidden")]] inline constexpr entry_type entry_type_of = {
    [](void* closure) {
        F& f = *static_cast<F*>(closure);
        f();
        f.~F();
    },
    [](void* closure) noexcept { static_cast<F*>(closure)->~F(); },
    sizeof(F),
    alignof(F),
};

// A G under construction, and where its closure goes.
struct spawning {
    G* g;
    void* closure;
};

// Takes a G of runtime s, with room for a closure of type entry. s == nullptr: the caller's
// runtime, or the default one. options may be nullptr. Throws resource_exhausted or std::bad_alloc.
// Exactly one of the other two functions must follow.
spawning spawn_begin(scheduler* s, const spawn_options* options, const entry_type& entry, source_location where);
void spawn_commit(G* g) noexcept;
void spawn_abandon(G* g) noexcept;

// Replaces spawn_commit: g begins when a wait ends. Links w into queue, whose lock is held, and
// releases the lock with bits. w must not move until then. The closure must begin with
// wait_is_over().
void spawn_waiting(G* g, waiter& w, wait_queue& queue, guarded_word& lock, uint32_t bits, wait_reason reason) noexcept
    WEFT_RELEASE(lock);
void wait_is_over() noexcept;

// All three in one, for the caller's runtime (or the default one). The closure must be trivially
// copyable, fit into a G, and lie in a buffer of whole words.
void spawn_copy(const entry_type& entry, const void* closure, source_location where);

inline constexpr std::size_t copied_closure_max = 64;

template <typename F>
void spawn(scheduler* s, const spawn_options* options, F&& f, source_location where) {
    using closure = std::decay_t<F>;
    static_assert(std::is_invocable_v<closure&>, "weft::go: the function must be callable without arguments");
    if constexpr (std::is_trivially_copyable_v<closure> && sizeof(closure) <= copied_closure_max &&
                  alignof(closure) <= 8) {
        if (s == nullptr && options == nullptr) {
            alignas(8) std::byte words[(sizeof(closure) + 7) / 8 * 8] = {};
            ::new (static_cast<void*>(words)) closure(std::forward<F>(f));
            spawn_copy(entry_type_of<closure>, words, where);
            return;
        }
    }
    const spawning made = spawn_begin(s, options, entry_type_of<closure>, where);
    if constexpr (std::is_nothrow_constructible_v<closure, F&&>) {
        ::new (made.closure) closure(std::forward<F>(f));
    } else {
        try {
            ::new (made.closure) closure(std::forward<F>(f));
        } catch (...) {
            spawn_abandon(made.g);
            throw;
        }
    }
    spawn_commit(made.g);
}

}  // namespace detail

/// Starts f() as a green thread. f is copied or moved, which must not block: the runtime cannot
/// stop during it. An exception that leaves f ends the process with a report that names the green
/// thread; async() and wait_group::go() propagate it instead. Throws resource_exhausted or
/// std::bad_alloc if there is no room for a G, std::invalid_argument if stack_size exceeds the
/// largest class or priority is invalid; nothing is started then. O(1); no allocation for closures
/// of up to 64 bytes.
template <typename F>
void go(F&& f, source_location where = source_location::current()) {
    detail::spawn(nullptr, nullptr, std::forward<F>(f), where);
}

template <typename F>
void go(const spawn_options& options, F&& f, source_location where = source_location::current()) {
    detail::spawn(nullptr, &options, std::forward<F>(f), where);
}

/// Lets other runnable green threads run first. Returns whether one ran. Fatal in a plain thread.
/// The caller may continue on another OS thread.
bool yield();

/// A preemption point for long computations. Yields if the scheduler has asked for it, or the time
/// slice is over, counted from its first checkpoint; else costs about 10 ns. Any thread; does
/// nothing in a plain one.
void checkpoint();

/// The calling green thread.
namespace this_g {

/// Its number, unique in its runtime, counted from 1 (the main G); 0 in a plain thread.
[[nodiscard]] uint64_t id() noexcept;

/// Its name; empty if it has none. Valid until it ends or is renamed.
[[nodiscard]] std::string_view name() noexcept;

/// Renames it; name is cut at 31 bytes, an empty one removes it. A concurrent dump may mix both
/// names. Does nothing in a plain thread.
void set_name(std::string_view name) noexcept;

/// Its labels; none in a plain thread.
[[nodiscard]] label_set labels() noexcept;

/// Replaces its labels, or adds one (replaces one with the same key; throws std::bad_alloc, with
/// the labels unchanged). Green threads that it starts later inherit them. Do nothing in a plain
/// thread.
void set_labels(label_set labels) noexcept;
void set_label(std::string_view key, std::string_view value);

}  // namespace this_g

}  // namespace weft
