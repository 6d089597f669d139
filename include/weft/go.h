// go.h: starting green threads, and what one can say about oneself.
//
// go(f) starts f as a green thread (a G) and returns at once. A G costs 256 bytes plus its closure until it first runs, then
// a stack of its own, of which only the touched pages cost memory. Closures of up to 64 bytes live in the G itself;
// larger ones are allocated.
//
// Who: go() by any thread. A plain thread's Gs go to the process's default runtime: the one weft::main runs, or else one
// that is started on first use.
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

// How a green thread is started. Use designated initializers: weft::go({.name = "acceptor"}, f).
struct spawn_options {
    std::string_view name = {};   // shown in dumps and reports; copied, cut at 31 bytes
    std::size_t stack_size = 0;   // usable bytes; 0: the runtime's default. Rounded up to a size class
    bool own_fp_control = false;  // this G changes rounding or exception masks (MXCSR, x87, FPCR): carry them with it
    bool inherit_locals = false;  // it begins with copies of the starter's values of all locals that can be copied
    weft::priority priority = weft::priority::normal;
    bool preemptible = false;  // all it does may be interrupted anywhere: see weft/preemptible.h for what that forbids
    label_set labels = {};     // shown in dumps; added to those it inherits from who starts it
};

namespace detail {

struct G;
struct scheduler;

// What the runtime has to know of a closure's type.
struct entry_type {
    void (*run)(void* closure);               // calls it, then destroys it
    void (*destroy)(void* closure) noexcept;  // destroys it without having called it
    std::size_t size;
    std::size_t align;
    // For closures made by the C interface, which begin with the address of a C function: does what is to be done after that, if it
    // ends its green thread from within. nullptr: others.
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

// A G that is being made: where its closure goes.
struct spawning {
    G* g;
    void* closure;
};

// Takes a G, with room for a closure of type entry, for the runtime s (nullptr: the caller's own, or the default one).
// Throws resource_exhausted or std::bad_alloc. Followed by exactly one of the other two.
// options may be nullptr.
spawning spawn_begin(scheduler* s, const spawn_options* options, const entry_type& entry, source_location where);
void spawn_commit(G* g) noexcept;
void spawn_abandon(G* g) noexcept;

// Instead of spawn_commit: g begins when a wait ends. w, which stays where it is until then, is linked into queue, whose lock is held; it
// is freed with bits. The closure begins with wait_is_over().
void spawn_waiting(G* g, waiter& w, wait_queue& queue, guarded_word& lock, uint32_t bits, wait_reason reason) noexcept;
void wait_is_over() noexcept;

// All three in one for the caller's own runtime (or the default one) and a closure that can be copied as bytes, fits into a G, and
// lies in a buffer of whole words.
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

// Starts f() as a green thread. f is copied or moved, which must not block: a runtime does not end meanwhile. An exception that
// leaves f ends the process with a report that names the green thread; use async() or wait_group::go() to have it travel. Throws
// resource_exhausted or std::bad_alloc if there is no room for another G, std::invalid_argument if stack_size is beyond the
// largest class or priority is none; nothing has been started then. O(1), no allocation for closures up to 64 bytes.
template <typename F>
void go(F&& f, source_location where = source_location::current()) {
    detail::spawn(nullptr, nullptr, std::forward<F>(f), where);
}

template <typename F>
void go(const spawn_options& options, F&& f, source_location where = source_location::current()) {
    detail::spawn(nullptr, &options, std::forward<F>(f), where);
}

// Lets other runnable green threads run first. Returns whether another one ran. Green threads only: a plain thread that calls it
// is a fatal error. The caller may be on another OS thread afterwards.
bool yield();

// A cheap place to be interrupted: yields if the scheduler has asked for it or the time slice is over, counted from
// the first checkpoint in it; else costs some ten nanoseconds. For long computations. Any thread; does nothing in a plain one.
void checkpoint();

// About the calling green thread.
namespace this_g {

// Its number, unique in its runtime, counted from 1 (the main G); 0 in a plain thread.
[[nodiscard]] uint64_t id() noexcept;

// Its name, empty if it has none. Valid until it ends or is given another one.
[[nodiscard]] std::string_view name() noexcept;

// Gives it another name, cut at 31 bytes; an empty one takes it away. A dump at that very moment may show some of both. Does nothing in
// a plain thread.
void set_name(std::string_view name) noexcept;

// Its labels; none in a plain thread.
[[nodiscard]] label_set labels() noexcept;

// Gives it other labels, or one more (in place of one with the same key; throws std::bad_alloc, and then it keeps those it has).
// Green threads that it starts from now on inherit them. Do nothing in a plain thread.
void set_labels(label_set labels) noexcept;
void set_label(std::string_view key, std::string_view value);

}  // namespace this_g

}  // namespace weft
