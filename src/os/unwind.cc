// unwind.cc: see unwind.h. Uses the C++ runtime's unwinder.
#include "os/unwind.h"

#include <unwind.h>

namespace weft::detail::os {

namespace {

struct walk {
    bool (*each)(void*, const void*);
    void* closure;
};

_Unwind_Reason_Code visit(_Unwind_Context* frame, void* argument) {
    const auto* w = static_cast<const walk*>(argument);
    const auto* pc = reinterpret_cast<const void*>(_Unwind_GetIP(frame));
    return pc != nullptr && w->each(w->closure, pc) ? _URC_NO_REASON : _URC_END_OF_STACK;
}

}  // namespace

void for_each_own_frame(bool (*each)(void* closure, const void* pc), void* closure) noexcept {
    walk w{each, closure};
    _Unwind_Backtrace(&visit, &w);
}

}  // namespace weft::detail::os
