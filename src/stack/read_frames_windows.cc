// read_frames_windows.cc: see read_frames.h. By unwind tables.
#include <cstdint>

#include "os/table_frames.h"
#include "stack/read_frames.h"
#include "stack/stack.h"

namespace weft::detail {

namespace {

struct readable_stacks {
    const struct stack* first;
    uintptr_t low;  // on the first
};

bool can_read(const void* closure, uintptr_t at) noexcept {
    const auto& those = *static_cast<const readable_stacks*>(closure);
    for (const struct stack* on = those.first; on != nullptr; on = on->continued()) {
        const auto low = on == those.first ? those.low : reinterpret_cast<uintptr_t>(on->low);
        if (at >= low && at <= reinterpret_cast<uintptr_t>(on->high()) - sizeof(uintptr_t)) return true;
    }
    return false;
}

}  // namespace

// From nowhere but a function's address there is no way out of it.
int read_frames(
    const void* pc, const void* fp, const void* low, const struct stack& s, const void** pcs, int max) noexcept {
    if (pc == nullptr) return 0;
    int count = 0;
    const auto sp = reinterpret_cast<uintptr_t>(low);
    const readable_stacks readable{&s, sp};
    os::table_frame at{pc, sp, reinterpret_cast<uintptr_t>(fp)};
    do {
        pcs[count++] = at.pc;
    } while (count < max && os::leave_frame(at, count == 1, &can_read, &readable));
    return count;
}

}  // namespace weft::detail
