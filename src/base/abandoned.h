// abandoned.h: records that green threads were abandoned, for objects that are destroyed in use.
//
// Destroying an object with waiters, or a locked mutex, is an error that ends the process, unless
// the waiter or holder is abandoned. The runtime unlinks abandoned Gs from queues, but cannot if an
// M was stuck, or if the process ends with Gs alive.
//
// While exit() runs, Gs may even continue to use an object. Its destructor leaves locks locked, for
// the Gs that will unlock them, and forgets the waiters: a runtime that stops later must not touch
// an object whose storage is gone.
//
// Threads: any thread.
// See:     docs/runtime.md#stopping
#pragma once

#include <cstdint>

namespace weft::detail {

namespace abandoned {

inline constexpr uint32_t locks = 1;  // some stay locked, and some wait groups never reach zero
inline constexpr uint32_t waits = 2;  // some waiters stay linked
inline constexpr uint32_t exit = 4;   // exit() runs while Gs continue

// From now on such destruction is no error.
void add(uint32_t what) noexcept;

// Whether only such Gs may be using an object. waited_on: it has waiters.
[[nodiscard]] bool may_be(bool waited_on) noexcept;

[[nodiscard]] bool at_exit() noexcept;

}  // namespace abandoned

}  // namespace weft::detail
