// return_address.h: return addresses as they lie in frames.
#pragma once

namespace weft::detail {

// address without the signature that AArch64 puts into its upper bits (-mbranch-protection); elsewhere, address.
[[nodiscard]] inline const void* strip_signature(const void* address) noexcept {
#if defined(__aarch64__)
    register const void* signed_address asm("x30") = address;
    asm("hint #7" : "+r"(signed_address));  // xpaclri: does nothing where there are no signatures
    return signed_address;
#else
    return address;
#endif
}

}  // namespace weft::detail
