// read_frames.cc: see read_frames.h. By frame records.
#include "stack/read_frames.h"

#include <cstdint>

#include "context/frame_record.h"
#include "context/return_address.h"
#include "context/sanitizer.h"
#include "stack/stack.h"

namespace weft::detail {

WEFT_NO_SANITIZE int read_frames(
    const void* pc, const void* fp, const void* low, const struct stack& s, const void** pcs, int max) noexcept {
    int count = 0;
    if (pc != nullptr) pcs[count++] = pc;
    uintptr_t at = record_address(reinterpret_cast<uintptr_t>(fp));
    auto lowest = reinterpret_cast<uintptr_t>(low);
    for (const struct stack* on = &s; on != nullptr; on = on->continued()) {
        const auto highest = reinterpret_cast<uintptr_t>(on->high()) - 2 * sizeof(void*);
        if (on != &s) lowest = reinterpret_cast<uintptr_t>(on->low);
        while (count < max && at >= lowest && at <= highest && at % sizeof(void*) == 0) {
            const auto* record = reinterpret_cast<const frame_record*>(at);
            if (record->return_address == nullptr) return count;
            pcs[count++] = strip_signature(record->return_address);
            lowest = at + 1;  // frames go upwards
            at = record_address(reinterpret_cast<uintptr_t>(record->outer));
        }
    }
    return count;
}

}  // namespace weft::detail
