// priority.h: three classes of green threads: who runs first.
//
//     weft::go({.priority = weft::priority::high}, [] { answer(); });      // before all others
//     weft::go({.priority = weft::priority::low}, [] { tidy_up(); });      // when nothing else is to be done
//
// On each P, high ones run before normal ones, and low ones when there is nothing else to be found on any P. Nobody starves: of 17
// schedules of a P one is not given to a high one while others wait there, and at least one of 200 is given to a low one while one
// waits there.
//
// A class decides who is picked next, not who is interrupted: a high green thread that becomes runnable waits until the one that
// runs parks, yields or ends, unless another P is free.
//
// A green thread that waits for a weft::mutex lends its class to the holder, and that one to the holder of what it waits for itself, if
// theirs is lower: at once, until they hold no lock any more. The same for the writer of a shared_mutex; its readers are lent nothing.
//
// Children are of the normal class unless they are given another one. Programs that use none pay for two predictable instructions
// when a mutex is locked, and when a green thread is queued.
//
// Who: this_g::… by green threads; they do nothing in plain ones.
// See: docs/priorities.md
#pragma once

#include <cstdint>

#include <weft/detail/require.h>

namespace weft {

enum class priority : uint8_t { normal, high, low };

namespace this_g {

// The class of the calling green thread, as it was last set, without what is lent to it; normal in a plain thread.
[[nodiscard]] weft::priority priority() noexcept;

// Sets it: from the next time on that the caller is queued. Does not yield.
void set_priority(weft::priority p) noexcept;

}  // namespace this_g

}  // namespace weft
