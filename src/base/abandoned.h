// abandoned.h: records that green threads were abandoned, for objects that are destroyed while in
// use.
//
// Destroying an object with waiters, or a locked mutex, is an error that ends the process. But the
// waiter or lock holder may be an abandoned G. Then it can neither be woken nor unlock, and
// destroying the object is the only option. The runtime unlinks abandoned Gs from all queues where
// it can (locks stay locked). It cannot if an M was stuck, or if the process ends with Gs alive.
//
// While exit() runs, Gs may even continue and hold an object that is being destroyed. If its
// storage is static, the storage stays. A destructor then forgets the waiters, because the storage
// may be of another kind, which a runtime that stops later must not touch. It leaves locks locked,
// for the Gs that will unlock them.
//
// Threads: any thread.
#pragma once

#include <cstdint>

namespace weft::detail {

namespace abandoned {

inline constexpr uint32_t locks = 1;  // some mutexes stay locked, and some wait groups never reach zero
inline constexpr uint32_t waits = 2;  // some waiters stay linked
inline constexpr uint32_t exit = 4;   // exit() runs while Gs continue

// From now on such destruction is no error.
void add(uint32_t what) noexcept;

// Whether only such Gs may be using an object that is still in use; waited_on: it has waiters.
[[nodiscard]] bool may_be(bool waited_on) noexcept;

// Whether Gs still use objects that exit() destroys.
[[nodiscard]] bool at_exit() noexcept;

}  // namespace abandoned

}  // namespace weft::detail
