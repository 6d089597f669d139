// abandoned.h: what is left of green threads that will never run again.
//
// Destroying an object that is waited on, or a mutex that is locked, is a mistake that ends the process. But who waits, or holds the
// lock, may be a G that was abandoned: then nobody can ever wake it or unlock, and destroying the object is all that is left to
// do. Where the runtime could, it has unlinked abandoned Gs from all queues (locks stay locked); where an M was stuck, or the process
// ends with Gs alive, it could not.
//
// When exit() runs, Gs may even go on meanwhile, and hold what is destroyed: if its storage is static, that stays. Then a destructor forgets
// who waits (its storage may be another, which a runtime that stops later must not touch), but leaves locked what is, for those who
// will unlock it.
//
// Who: any thread.
#pragma once

#include <cstdint>

namespace weft::detail {

namespace abandoned {

inline constexpr uint32_t locks = 1;  // some mutexes stay locked, and some wait groups are never done
inline constexpr uint32_t waits = 2;  // some waiters stay linked
inline constexpr uint32_t exit = 4;   // exit() runs, and Gs go on meanwhile

// From now on, that is no mistake.
void add(uint32_t what) noexcept;

// Whether an object that is still in use, and waited on or not, may be in use only by such Gs.
[[nodiscard]] bool may_be(bool waited_on) noexcept;

// Whether Gs go on using what exit() destroys.
[[nodiscard]] bool at_exit() noexcept;

}  // namespace abandoned

}  // namespace weft::detail
