// unwinding.h: the frames of the caller's stack, as exceptions find them.
#pragma once

#include <unwind.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::test {

struct unwound {
    std::vector<const void*> functions;  // each frame's function start, innermost first
    bool ended = false;                  // the unwinder reached the end, not a frame it cannot read

    [[nodiscard]] bool contains(const void* function) const {
        for (const void* f : functions) {
            if (f == function) return true;
        }
        return false;
    }
};

// Whether frames are unwound by LLVM's libunwind, not GCC's unwinder: with libc++, or in static
// programs with musl.
[[nodiscard]] bool is_llvm_unwinder();

// Walks up from the caller, over at most max frames.
[[nodiscard]] inline unwound unwind_here(std::size_t max = 200) {
    struct walk {
        unwound found;
        std::size_t max;
    } w{{}, max};

    const _Unwind_Reason_Code code = _Unwind_Backtrace(
        [](_Unwind_Context* frame, void* argument) {
            auto& self = *static_cast<walk*>(argument);
            if (self.found.functions.size() == self.max) return _URC_NORMAL_STOP;
            int interrupted_there = 0;  // else the pc is a return address, possibly past the function's end
            const auto pc = static_cast<uintptr_t>(_Unwind_GetIPInfo(frame, &interrupted_there));
            if (pc == 0) return _URC_NO_REASON;  // above the outermost frame
            auto* at = reinterpret_cast<void*>(interrupted_there != 0 ? pc : pc - 1);
            self.found.functions.push_back(_Unwind_FindEnclosingFunction(at));
            return _URC_NO_REASON;
        },
        &w);
    w.found.ended = code == _URC_END_OF_STACK;
    return w.found;
}

}  // namespace weft::test
