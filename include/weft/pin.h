// pin.h: keeping a green thread on its OS thread, as Go's runtime.LockOSThread.
//
//     {
//         weft::pin here;              // from here on it stays on this OS thread, and nothing else runs there
//         glBegin(…); c.recv(); …
//     }
//
// For libraries that keep state in the OS thread (OpenGL, Qt, some database clients), and for code that changes the thread itself:
// its affinity, namespaces, signal mask, priority. Pins nest. Taken first in the function of weft::main, a pin is on the
// process's main thread.
//
// While a pinned green thread waits, its OS thread sleeps, and its P runs others. To go on it has to be woken as an OS thread is:
// waiting for it and for others costs microseconds instead of tens of nanoseconds. Children are not pinned.
//
// A green thread that ends while it is pinned takes its OS thread with it, so that what it has done to it is seen by nobody else: see
// keep(). New OS threads are never made by a pinned one: they do not inherit its state.
//
// Who: green threads; a plain thread stays on its own anyway, and pin does nothing there.
// See: docs/pin.md, test/model/pin.pml
#pragma once

#include <cstdint>

#include <weft/detail/require.h>

namespace weft {

class [[nodiscard]] pin {
public:
    pin() noexcept;

    // By the green thread that made it; else fatal. If it was the last pin, the green thread is free again.
    ~pin();

    pin(const pin&) = delete;
    pin& operator=(const pin&) = delete;

    // For good: the destructor does not unpin, and when the green thread ends, so does the OS thread. (The thread that called
    // weft::main then runs nothing any more until main's green thread returns.)
    void keep() noexcept;

private:
    uint64_t g_ = 0;  // whom it has pinned; 0: nobody
};

namespace this_g {

// Whether the calling green thread is pinned; false in a plain thread.
[[nodiscard]] bool pinned() noexcept;

}  // namespace this_g

}  // namespace weft
