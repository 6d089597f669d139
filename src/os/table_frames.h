// table_frames.h: walks the frames of a stack that is not the caller's, by unwind tables.
//
// For systems on which frame records are not linked (context/frame_record.h): Windows. There the
// program's image has a table for each function, with what its prologue does. The system's own
// unwinder would trust each value on the stack, which another thread may be changing. So the steps
// are made here, and each address is checked before it is read.
//
// Threads: any thread. Not in a signal handler.
#pragma once

#include <cstdint>

namespace weft::detail::os {

struct table_frame {
    const void* pc;
    uintptr_t sp;
    uintptr_t fp;  // 0: unknown
};

// Makes frame the one of its caller. is_innermost: the function may be interrupted in its prologue.
// can_read: whether a word on a stack can be read. Returns false, with frame undefined, if the
// caller is unknown.
[[nodiscard]] bool leave_frame(table_frame& frame,
                               bool is_innermost,
                               bool (*can_read)(const void* closure, uintptr_t at) noexcept,
                               const void* closure) noexcept;

}  // namespace weft::detail::os
