// running_here.cc: see running_here.h.
#include "debug/running_here.h"

#include <algorithm>

#include "context/direct_call.h"
#include "context/frame_record.h"
#include "context/return_address.h"
#include "os/commit.h"
#include "os/cpu_sampling.h"
#include "os/os.h"
#include "os/signals.h"
#include "per_g/labels.h"
#include "sched/current.h"
#include "sched/scheduler.h"
#include "stack/read_frames.h"

namespace weft::detail {

namespace {

// Tests each page once.
class tested_pages {
public:
    // Two words at this address.
    bool can_read(uintptr_t at) noexcept { return is_good(at) && is_good(at + sizeof(void*)); }

private:
    static constexpr uintptr_t page = 4096;  // or more, in fact

    bool is_good(uintptr_t at) noexcept {
        if (at / page == good_) return true;
        if (!os::is_readable(reinterpret_cast<const void*>(at))) return false;  // NOLINT(performance-no-int-to-ptr)
        good_ = at / page;
        return true;
    }

    uintptr_t good_ = 0;
};

struct frames_found {
    int count = 0;
    bool has_crossed = false;  // they go on to their end on the other stack
};

// The word at the stack pointer, where that is the return address of a function without a frame.
WEFT_NO_SANITIZE const void* read_return(const os::fault& at) noexcept {
    if (!stack_has_return_address) return strip_signature(at.return_register);
    const auto sp = reinterpret_cast<uintptr_t>(at.address);
    tested_pages pages;  // a growing stack may not reach that far yet
    if (sp % sizeof(void*) != 0 || !pages.can_read(sp)) return nullptr;
    return *static_cast<void* const*>(at.address);
}

// The frames on a stack of unknown bounds, and then those on `then`, if they lead there.
WEFT_NO_SANITIZE frames_found read_unbounded(const os::fault& from,
                                             const struct stack* then,
                                             const void** pcs,
                                             int max) noexcept {
    constexpr uintptr_t frame_max = uintptr_t{1} << 20;  // a larger step is not a frame
    frames_found found;
    pcs[found.count++] = from.pc;
    if (!records_are_linked) return found;
    tested_pages pages;
    auto lowest = reinterpret_cast<uintptr_t>(from.address);
    const void* fp = from.fp;
    while (found.count < max) {
        const uintptr_t at = record_address(reinterpret_cast<uintptr_t>(fp));
        const auto* record = reinterpret_cast<const frame_record*>(at);  // NOLINT(performance-no-int-to-ptr)
        if (then != nullptr && then->holds(record)) {
            found.count += read_frames(nullptr, fp, record, *then, pcs + found.count, max - found.count);
            found.has_crossed = true;
            return found;
        }
        if (at < lowest || at - lowest > frame_max || at % sizeof(void*) != 0 || !pages.can_read(at)) break;
        if (record->return_address == nullptr) break;
        pcs[found.count++] = strip_signature(record->return_address);
        lowest = at + 1;  // frames go upwards
        fp = record->outer;
    }
    return found;
}

template <std::size_t Size>
bool copy_code(unsigned char (&to)[Size], uintptr_t from) noexcept {
    return os::copy_memory(to, reinterpret_cast<const void*>(from), Size);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace

uintptr_t target_of_call(uintptr_t return_address) noexcept {
    unsigned char code[call_size];
    return copy_code(code, return_address - call_size) ? target_of_call(code, return_address) : 0;
}

WEFT_NO_SANITIZE void running_here::read(const os::fault& at) noexcept {
    const M* m = current_m();
    tid = os::current_tid();
    in_call = m != nullptr && m->lent_by != nullptr;
    const G* g = m == nullptr ? nullptr : in_call ? m->lent_by : m->g;
    const struct stack* own = g == nullptr ? nullptr : g->stack;
    const bool is_on_own = own != nullptr && own->holds(at.address);
    of = m == nullptr ? owner::other_thread : owner::runtime;
    has_p = m != nullptr && m_snapshot(*m).has_p;
    if (own != nullptr && (is_on_own || in_call) && who.read(*g)) {
        of = owner::green_thread;
        labels = share_labels(*g);
    }
    if (is_on_own) {
        count = read_frames(at.pc, at.fp, at.address, *own, pcs, frames_max);
    } else {
        const struct stack* then = of == owner::green_thread ? own : nullptr;
        const frames_found found = read_unbounded(at, then, pcs, frames_max);
        count = found.count;
        // Code of the call without frame pointers may have cut the chain.
        if (then != nullptr && !found.has_crossed)
            count += read_frames(g->context.pc, g->context.fp, g->context.sp, *then, pcs + count, frames_max - count);
    }
    is_cut = count == frames_max;
    return_without_frame = read_return(at);
}

bool running_here::may_lack_frame() const noexcept {
    constexpr uintptr_t function_max = uintptr_t{1} << 20;
    const auto pc = reinterpret_cast<uintptr_t>(count == 0 ? nullptr : pcs[0]);
    const auto back = reinterpret_cast<uintptr_t>(return_without_frame);
    if (back < function_max) return false;
    const uintptr_t function = target_of_call(back);
    if (function == 0 || function > pc || pc - function >= function_max) return false;
    unsigned char code[entry_size];
    return copy_code(code, function) && !begins_with_frame(code);
}

}  // namespace weft::detail
