// pin.h: keeps a green thread on its OS thread, like Go's runtime.LockOSThread.
//
//     {
//         weft::pin here;              // from here on it stays on this OS thread, and nothing else runs there
//         glBegin(…); c.recv(); …
//     }
//
// For libraries that keep state in the OS thread (OpenGL, Qt, some database clients), and for code
// that changes its thread's affinity, namespaces, signal mask or priority. Pins nest. If the
// function of weft::main pins first, it is on the process's main thread.
//
// While a pinned green thread waits, its OS thread sleeps, and its P runs others. Resuming it means
// waking that OS thread: microseconds instead of tens of nanoseconds. Children are not pinned.
//
// If a green thread ends while pinned, its OS thread ends too, so no other code sees the changes;
// see keep(). A pinned thread never makes new OS threads, so none inherits its state.
//
// Threads: green threads; in a plain thread, which stays on its own anyway, pin does nothing.
// See: docs/pin.md, test/model/pin.pml
#pragma once

#include <cstdint>

#include <weft/detail/require.h>

namespace weft {

class [[nodiscard]] pin {
public:
    pin() noexcept;

    /// Caller: the green thread that made it; otherwise fatal. The last pin's destructor unpins the
    /// green thread.
    ~pin();

    pin(const pin&) = delete;
    pin& operator=(const pin&) = delete;

    /// For good: the destructor does not unpin, and the OS thread ends with the green thread. (The
    /// thread that called weft::main then runs nothing until main's green thread returns.)
    void keep() noexcept;

private:
    uint64_t g_ = 0;  // the pinned green thread; 0: none
};

namespace this_g {

/// Returns whether the calling green thread is pinned; false in a plain thread.
[[nodiscard]] bool pinned() noexcept;

}  // namespace this_g

}  // namespace weft
