// running_here.h: what the calling thread runs, read in a signal handler.
//
// The frames of a green thread are read inside its stack, as dumps do. Other stacks have unknown
// bounds: there, each page is tested before it is read, because code without frame pointers leaves
// anything in their register.
//
//     the thread        its M    sp lies in        owner
//     runs a G          m->g     the G's stack     the G
//     in blocking()     m->lent  g0's stack        the G; its own frames follow those of the call
//     in a C call       m->lent  the G's stack     the G
//     switches          m->g     another stack     the runtime
//     schedules         none     g0's stack        the runtime
//     is no M           –        any               the thread
//
// Threads: any, about itself, also in a signal handler: allocates nothing, takes no lock.
#pragma once

#include <cstdint>

#include <weft/labels.h>

#include "debug/g_snapshot.h"

namespace weft::detail {

namespace os {
struct fault;
}  // namespace os

// The function that the instruction before return_address calls; 0: it is no direct call, or cannot
// be read. Not in a signal handler.
[[nodiscard]] uintptr_t target_of_call(uintptr_t return_address) noexcept;

struct running_here {
    enum class owner : uint8_t { other_thread, runtime, green_thread };

    static constexpr int frames_max = 64;

    owner of = owner::other_thread;
    bool in_call = false;  // a green thread in a blocking call
    bool has_p = false;
    bool is_cut = false;  // there are more frames
    int tid = 0;
    identity who;      // of a green thread
    label_set labels;  // as above
    int count = 0;
    const void* pcs[frames_max];  // the first is exact, the others are return addresses
    // Where the innermost function returns to, if it has no frame; else anything. nullptr: unknown.
    const void* return_without_frame = nullptr;

    // at: where the thread is; address: its stack pointer. Requires: labels is empty.
    void read(const os::fault& at) noexcept;

    // Whether return_without_frame follows a call of the function that contains pcs[0], as far as
    // the code around it tells. Not in a signal handler.
    [[nodiscard]] bool may_lack_frame() const noexcept;
};

}  // namespace weft::detail
