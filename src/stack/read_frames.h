// read_frames.h: the return addresses on a stack that does not run.
//
// Threads: any that keeps the stack from running.
#pragma once

namespace weft::detail {

struct stack;

// Stores up to max return addresses: pc, unless nullptr, and the chain from fp. Frames lie on s, at
// or above low, and on the stacks that s continues. Where frame records are not linked
// (context/frame_record.h), low is the stack pointer. Returns the count.
int read_frames(const void* pc, const void* fp, const void* low, const stack& s, const void** pcs, int max) noexcept;

}  // namespace weft::detail
