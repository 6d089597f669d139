// watched_bits.h: the bits of special::watched, which lead the switches of a G to their rare parts:
// for recordings (recording.h), and for hooks (switch_hooks.h).
//
// They are set and cleared in all Gs while some of these run, and others start. A G that starts
// takes them from scheduler::g_flags (fill_in in spawn.cc).
//
// Locks:   freezing.
// Threads: any that keeps the scheduler; for one bit, one at a time.
#pragma once

#include <cstdint>

namespace weft::detail {

struct scheduler;

// bit: one of special::watched.
void set_watched_bit(scheduler& s, uint16_t bit, bool on) noexcept;

}  // namespace weft::detail
