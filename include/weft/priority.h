// priority.h: three priority classes of green threads.
//
//     weft::go({.priority = weft::priority::high}, [] { answer(); });      // before all others
//     weft::go({.priority = weft::priority::low}, [] { tidy_up(); });      // when nothing else can run
//
// On each P, high runs before normal; low runs when no P has anything else. No class starves. Of 17
// schedules of a P one does not go to a high G while others wait there. Of 200 at least one goes to
// a low G while one waits there.
//
// A class decides which G is picked next; it interrupts none. A high G that becomes runnable waits
// until the running one parks, yields or ends, unless another P is free.
//
// Priority inheritance: a green thread that waits for a weft::mutex lends its class to the holder.
// If that one waits too, it passes the class on to the holder of what it waits for. Only lower
// classes are raised, at once, until they hold no lock. The same holds for the writer of a
// shared_mutex; readers inherit nothing.
//
// Children get the normal class unless another is given. Programs without priorities pay two
// predictable instructions when a mutex is locked, and when a green thread is queued.
//
// Threads: this_g::… by green threads; they do nothing in plain threads.
// See: docs/priorities.md
#pragma once

#include <cstdint>

#include <weft/detail/require.h>

namespace weft {

/// Ordered: low < normal < high.
enum class priority : uint8_t { low, normal, high };

namespace this_g {

/// Returns the class of the calling green thread as last set, without inheritance; normal in a
/// plain thread.
[[nodiscard]] weft::priority priority() noexcept;

/// Sets the class. It applies from the next time the caller is queued. Does not yield.
void set_priority(weft::priority p) noexcept;

}  // namespace this_g

}  // namespace weft
