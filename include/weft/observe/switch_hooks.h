// switch_hooks.h: calls two functions of a program whenever a green thread begins and stops to run.
//
//     weft::observe::switch_hooks arenas(&enter_arena, &leave_arena, &all_arenas);
//
// For libraries that keep state per OS thread: profilers, tracers, language runtimes, allocators.
// The core implements it, so a program does not need to link weft::observe.
//
// See: docs/switch_hooks.md
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include <weft/detail/require.h>

namespace weft::detail {
struct hook_access;
}

namespace weft::observe {

/// What a hook is told. Valid during the call.
struct switch_event {
    uint64_t green_thread;  ///< its id, as this_g::id()
    std::string_view name;  ///< as this_g::name()
    void* word;             ///< what set_word has set for this green thread; else nullptr
};

/// From its construction to its removal, in(argument, event) is called directly before a green
/// thread runs on the calling OS thread, and out(argument, event) directly after it has stopped.
/// Each in is followed by exactly one out on the same OS thread; in between, no other green thread
/// runs there. A green thread that runs when the hooks are made has its first call when it runs the
/// next time. Of several hooks, in is called in the order of their places, out in reverse.
///
/// A green thread in a blocking call keeps its OS thread, so it gets no calls, unless it has to
/// wait for a processor after the call. One that ends gets its out, then without a word. One that
/// runs when the process ends, or in the child of a fork, gets none.
///
/// The functions run inside the scheduler, on the stack of either green thread, possibly with the
/// lock of an object held. They must be quick, need less than 4 KiB of stack, and must not wait,
/// start green threads, or use any other function of weft: those that wait or start end the process
/// with a message. They must not take a lock or allocate memory that preemptible code may be
/// interrupted in.
class switch_hooks {
public:
    using function = void (*)(void* argument, const switch_event& event) noexcept;

    /// Hooks that exist at the same time, in the whole process.
    static constexpr unsigned most = 8;

    /// Of all runtimes of the process, also of later ones. Any thread. Throws
    /// std::invalid_argument if a function is nullptr; std::length_error if most exist.
    switch_hooks(function in, function out, void* argument);

    /// As remove().
    ~switch_hooks();

    switch_hooks(const switch_hooks&) = delete;
    switch_hooks& operator=(const switch_hooks&) = delete;

    /// No in is called from now on. Waits until each in has had its out, and asks the green threads
    /// concerned to yield. So it takes as long as a blocking call of one of them, or a computation
    /// that cannot be preempted. Afterwards neither function is called. Any thread but a hook.
    /// Again: no effect.
    void remove() noexcept;

    /// As remove(), but waits at most that long. Returns false if an out is still to come: call it
    /// again.
    [[nodiscard]] bool remove_for(std::chrono::nanoseconds timeout) noexcept;

    /// A word of the calling green thread, for these hooks: their events have it. As if the green
    /// thread had stopped before and begun to run after, out is called with the old word and in
    /// with the new one. inherited: green threads that this one starts with
    /// spawn_options::inherit_locals begin with it. Fatal in a plain thread. Throws std::bad_alloc.
    void set_word(void* word, bool inherited = false);

    /// That of the calling green thread; nullptr if none is set, or in a plain thread.
    [[nodiscard]] void* word() const noexcept;

private:
    friend struct weft::detail::hook_access;

    uint64_t serial_ = 0;  // 0: removed
    unsigned place_ = 0;
};

}  // namespace weft::observe
