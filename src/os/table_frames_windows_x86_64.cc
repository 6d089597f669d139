// table_frames_windows_x86_64.cc: see table_frames.h.
//
// See: "x64 exception handling", unwind data, in Microsoft's documentation.
#include "os/table_frames.h"
#include "os/windows_api.h"

namespace weft::detail::os {

namespace {

enum operation : unsigned {
    push_register = 0,
    allocate_large = 1,
    allocate_small = 2,
    set_frame_pointer = 3,
    save_register = 4,
    save_register_far = 5,
    save_vector = 8,
    save_vector_far = 9,
};

constexpr unsigned rbp = 5;  // number of the register; no other is a frame pointer in GCC's code
constexpr unsigned flag_chained = 4;
constexpr int chained_max = 8;
constexpr uintptr_t word = sizeof(uintptr_t);

struct unwind_info {
    uint8_t version_and_flags;
    uint8_t prologue_size;
    uint8_t code_count;
    uint8_t frame_register_and_offset;  // the offset in units of 16 bytes
    uint16_t codes[1];
};

class walker {
public:
    walker(table_frame& frame, bool (*can_read)(const void*, uintptr_t) noexcept, const void* closure) noexcept
        : frame_(frame), can_read_(can_read), closure_(closure) {}

    // Undoes what the prologue has done before this offset in the function.
    bool undo(const unwind_info& info, uintptr_t offset) noexcept {
        const unsigned frame_register = info.frame_register_and_offset & 15U;
        if ((info.version_and_flags & 7U) != 1 || (frame_register != 0 && frame_register != rbp)) return false;
        const uintptr_t frame_offset = (info.frame_register_and_offset >> 4U) * uintptr_t{16};
        const bool has_frame_pointer = frame_register != 0 && offset >= info.prologue_size;
        if (has_frame_pointer && frame_.fp == 0) return false;
        base_ = has_frame_pointer ? frame_.fp - frame_offset : frame_.sp;
        for (unsigned i = 0; i < info.code_count;) {
            const unsigned code = info.codes[i];
            const unsigned size = size_of(code);
            if (size == 0 || i + size > info.code_count) return false;
            const bool is_done = (code & 0xFFU) <= offset;
            if (is_done && !undo_one(code, info.codes + i + 1, frame_offset)) return false;
            i += size;
        }
        return true;
    }

    bool pop(uintptr_t& value) noexcept {
        if (!read(frame_.sp, value)) return false;
        frame_.sp += word;
        return true;
    }

private:
    static unsigned operation_of(unsigned code) noexcept { return (code >> 8U) & 15U; }

    static unsigned operand_of(unsigned code) noexcept { return code >> 12U; }

    // In codes. 0: unknown.
    static unsigned size_of(unsigned code) noexcept {
        switch (operation_of(code)) {
            case push_register:
            case allocate_small:
            case set_frame_pointer:
                return 1;
            case allocate_large:
                return operand_of(code) == 0 ? 2 : 3;
            case save_register:
            case save_vector:
                return 2;
            case save_register_far:
            case save_vector_far:
                return 3;
            default:
                return 0;
        }
    }

    bool undo_one(unsigned code, const uint16_t* more, uintptr_t frame_offset) noexcept {
        uintptr_t ignored = 0;
        const unsigned operand = operand_of(code);
        const auto far = [more] { return more[0] | (static_cast<uintptr_t>(more[1]) << 16U); };
        switch (operation_of(code)) {
            case push_register:
                return pop(operand == rbp ? frame_.fp : ignored);
            case allocate_small:
                frame_.sp += (operand + 1) * word;
                return true;
            case allocate_large:
                frame_.sp += operand == 0 ? more[0] * word : far();
                return true;
            case set_frame_pointer:
                frame_.sp = frame_.fp - frame_offset;
                return true;
            case save_register:
                return operand != rbp || read(base_ + more[0] * word, frame_.fp);
            case save_register_far:
                return operand != rbp || read(base_ + far(), frame_.fp);
            default:
                return true;  // a vector
        }
    }

    bool read(uintptr_t at, uintptr_t& value) const noexcept {
        if (at % word != 0 || !can_read_(closure_, at)) return false;
        value = *reinterpret_cast<const volatile uintptr_t*>(at);  // NOLINT(performance-no-int-to-ptr)
        return true;
    }

    table_frame& frame_;
    bool (*const can_read_)(const void*, uintptr_t) noexcept;
    const void* const closure_;
    uintptr_t base_ = 0;  // saved registers are relative to it
};

}  // namespace

bool leave_frame(table_frame& frame,
                 bool is_innermost,
                 bool (*can_read)(const void* closure, uintptr_t at) noexcept,
                 const void* closure) noexcept {
    const auto pc = reinterpret_cast<uintptr_t>(frame.pc) - (is_innermost ? 0 : 1);  // a call may end its function
    walker from(frame, can_read, closure);
    DWORD64 image = 0;
    const RUNTIME_FUNCTION* function = RtlLookupFunctionEntry(pc, &image, nullptr);
    uintptr_t offset = function == nullptr ? 0 : pc - (image + function->BeginAddress);
    for (int i = 0; function != nullptr; ++i) {
        const auto* info = reinterpret_cast<const unwind_info*>(image + function->UnwindData);  // NOLINT
        if (i == chained_max || !from.undo(*info, offset)) return false;
        if (((info->version_and_flags >> 3U) & flag_chained) == 0) break;
        function = reinterpret_cast<const RUNTIME_FUNCTION*>(info->codes + ((info->code_count + 1U) & ~1U));
        offset = UINT32_MAX;  // its prologue is over
    }
    uintptr_t back = 0;
    if (!from.pop(back)) return false;
    frame.pc = reinterpret_cast<const void*>(back);  // NOLINT(performance-no-int-to-ptr)
    return back != 0;
}

}  // namespace weft::detail::os
