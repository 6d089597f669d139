// direct_call.h: which function a call instruction calls, and where a function without a frame
// returns to.
//
// Compilers leave out the frame of a function that calls no other and keeps all in registers, also
// with -fno-omit-frame-pointer. A walk by frame pointers then misses its caller. Its return address
// is known nevertheless: on x86-64 the stack pointer points to it, elsewhere a register has it.
// Whether a word is that return address, the code in front of it says: it is a call of the function
// in question. The code is read by a copy, because its module may be unloaded at any time.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <cstring>

namespace weft::detail {

#if defined(__x86_64__)

inline constexpr bool stack_has_return_address = true;
inline constexpr int call_size = 5;

// The function that the instruction before return_address calls; 0: it is no direct call. code: a
// copy of [return_address - call_size, return_address).
[[nodiscard]] inline uintptr_t target_of_call(const unsigned char (&code)[call_size],
                                              uintptr_t return_address) noexcept {
    if (code[0] != 0xe8) return 0;
    int32_t distance = 0;
    std::memcpy(&distance, code + 1, sizeof(distance));
    return return_address + static_cast<uintptr_t>(intptr_t{distance});
}

inline constexpr int entry_size = 5;

// Whether a function begins with its frame. code: a copy of its start.
[[nodiscard]] inline bool begins_with_frame(const unsigned char (&code)[entry_size]) noexcept {
    constexpr unsigned char push_frame_pointer = 0x55;
    constexpr unsigned char branch_target[] = {0xf3, 0x0f, 0x1e, 0xfa};
    const bool is_marked = std::memcmp(code, branch_target, sizeof(branch_target)) == 0;
    return code[is_marked ? sizeof(branch_target) : 0] == push_frame_pointer;
}

#elif defined(__aarch64__)

inline constexpr bool stack_has_return_address = false;
inline constexpr int call_size = 4;

[[nodiscard]] inline uintptr_t target_of_call(const unsigned char (&bytes)[call_size],
                                              uintptr_t return_address) noexcept {
    uint32_t code = 0;
    std::memcpy(&code, bytes, sizeof(code));
    if ((code & 0xfc000000) != 0x94000000) return 0;  // bl
    const auto distance = static_cast<int32_t>(code << 6) >> 4;
    return return_address - call_size + static_cast<uintptr_t>(intptr_t{distance});
}

inline constexpr int entry_size = 8;

[[nodiscard]] inline bool begins_with_frame(const unsigned char (&bytes)[entry_size]) noexcept {
    uint32_t code[2];
    std::memcpy(code, bytes, sizeof(code));
    const bool is_marked = code[0] == 0xd503233f || code[0] == 0xd503245f;  // paciasp, bti c
    return (code[is_marked ? 1 : 0] & 0xffc07fff) == 0xa9807bfd;            // stp x29, x30, [sp, #-n]!
}

#elif defined(__riscv)

inline constexpr bool stack_has_return_address = false;
inline constexpr int call_size = 8;

// The linker turns auipc and jalr into jal where the function is near.
[[nodiscard]] inline uintptr_t target_of_call(const unsigned char (&bytes)[call_size],
                                              uintptr_t return_address) noexcept {
    uint32_t code[2];
    std::memcpy(code, bytes, sizeof(code));
    if ((code[1] & 0xfff) == 0x0ef) {  // jal ra
        const uint32_t distance = (code[1] & 0x000ff000) | ((code[1] >> 9) & 0x800) | ((code[1] >> 20) & 0x7fe);
        const int32_t sign = (code[1] >> 31) != 0 ? -(int32_t{1} << 20) : 0;
        return return_address - 4 + static_cast<uintptr_t>(intptr_t{static_cast<int32_t>(distance) + sign});
    }
    if ((code[0] & 0xfff) != 0x097 || (code[1] & 0xfffff) != 0x080e7) return 0;  // auipc ra; jalr ra, n(ra)
    const auto high = static_cast<int32_t>(code[0] & 0xfffff000);
    const int32_t low = static_cast<int32_t>(code[1]) >> 20;
    return return_address - call_size + static_cast<uintptr_t>(intptr_t{high} + low);
}

inline constexpr int entry_size = 8;

// It saves the return address after it has moved the stack pointer.
[[nodiscard]] inline bool begins_with_frame(const unsigned char (&bytes)[entry_size]) noexcept {
    const int first = (bytes[0] & 3) == 3 ? 4 : 2;
    uint32_t second = 0;
    std::memcpy(&second, bytes + first, sizeof(second));
    return (second & 0xe07f) == 0xe006 || (second & 0x01fff07f) == 0x00113023;  // c.sdsp ra, n; sd ra, n(sp)
}

#else

inline constexpr bool stack_has_return_address = false;
inline constexpr int call_size = 1;
inline constexpr int entry_size = 1;

[[nodiscard]] inline uintptr_t target_of_call(const unsigned char (&)[call_size], uintptr_t) noexcept { return 0; }

[[nodiscard]] inline bool begins_with_frame(const unsigned char (&)[entry_size]) noexcept { return true; }

#endif

}  // namespace weft::detail
