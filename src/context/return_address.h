// return_address.h: return addresses from frames.
#pragma once

namespace weft::detail {

// Strips the signature that AArch64 puts into the upper bits (-mbranch-protection).
[[nodiscard]] inline const void* strip_signature(const void* address) noexcept {
#if defined(__aarch64__)
    register const void* signed_address asm("x30") = address;
    asm("hint #7" : "+r"(signed_address));  // xpaclri: no effect without signatures
    return signed_address;
#else
    return address;
#endif
}

}  // namespace weft::detail
