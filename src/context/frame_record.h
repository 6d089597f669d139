// frame_record.h: the two words that a function with a frame pointer saves on its stack.
//
//     x86-64, AArch64    the frame pointer points to them
//     RISC-V             they lie below it: it is the caller's stack pointer
//
// On RISC-V, GCC gives a function that calls no other a frame with the outer frame pointer only. No
// caller of others has such a frame, so a walk meets one only in code that a signal has interrupted
// (os/machine_context.h steps over it).
//
// On Windows, a frame pointer points into the frame, at a distance from the record that only the
// unwind tables have.
#pragma once

#include <cstdint>

namespace weft::detail {

struct frame_record {
    void* outer;                 // frame pointer; nullptr: none is known
    const void* return_address;  // nullptr: the frames end here
};

// Whether a walk over records leads to the outer frames.
#if defined(_WIN32)
inline constexpr bool records_are_linked = false;
#else
inline constexpr bool records_are_linked = true;
#endif

static_assert(sizeof(frame_record) == 2 * sizeof(void*), "as the processors have it");

// Where the record of the frame with frame pointer fp is. No frame: no address of a record.
[[nodiscard]] inline uintptr_t record_address(uintptr_t fp) noexcept {
#if defined(__riscv)
    return fp - sizeof(frame_record);
#else
    return fp;
#endif
}

// For WEFT_FRAME_POINTER().
[[nodiscard]] inline frame_record* record_of(void* fp) noexcept {
    return reinterpret_cast<frame_record*>(record_address(reinterpret_cast<uintptr_t>(fp)));
}

}  // namespace weft::detail

// Of the function that contains it, which must have a frame pointer. On Windows, GCC saves the
// caller's frame pointer next to the return address.
#if defined(_WIN32)
#define WEFT_FRAME_POINTER() (static_cast<char*>(__builtin_dwarf_cfa()) - 2 * sizeof(void*))
#else
#define WEFT_FRAME_POINTER() __builtin_frame_address(0)
#endif
