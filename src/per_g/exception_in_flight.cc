// exception_in_flight.cc: see exception_in_flight.h.
#include "per_g/exception_in_flight.h"

#include <unwind.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>

#include "context/sanitizer.h"
#include "os/commit.h"

namespace weft::detail {

namespace {

// Bytes before the unwinder's part, in the exception header of both C++ runtimes.
constexpr std::size_t to_handler_count = 40;
#if defined(_LIBCPP_VERSION)
constexpr std::size_t to_owner_count = 88;
constexpr uint64_t primary_class = 0x434C4E47432B2B00;  // "CLNGC++\0"
#else
constexpr std::size_t to_owner_count = 96;
constexpr uint64_t primary_class = 0x474E5543432B2B00;  // "GNUCC++\0"
#endif
constexpr uint64_t dependent_class = primary_class + 1;  // made by rethrow_exception
constexpr int owners_max = 1'000'000;
constexpr uintptr_t lowest_address = 65536;

template <typename T>
WEFT_NO_SANITIZE T value_at(uintptr_t address) noexcept {
    return *reinterpret_cast<const volatile T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

bool is_readable(uintptr_t address) noexcept {
    return os::is_readable(reinterpret_cast<const void*>(address));  // NOLINT(performance-no-int-to-ptr)
}

WEFT_NO_SANITIZE bool is_in_flight(uintptr_t header) noexcept {
    if (header < lowest_address || header % alignof(_Unwind_Exception) != 0) return false;
    if (!is_readable(header) || !is_readable(header - to_owner_count)) return false;
    const auto kind = value_at<uint64_t>(header);
    if (kind != primary_class && kind != dependent_class) return false;
    if (value_at<int>(header - to_handler_count) > 0) return false;  // caught
    if (kind == dependent_class) return true;                        // has no count
    const int owners = value_at<int>(header - to_owner_count);
    return owners > 0 && owners < owners_max;
}

[[gnu::noinline]] WEFT_NO_SANITIZE void* search(uintptr_t high) noexcept {
    uintptr_t before = 0;
    for (auto at = reinterpret_cast<uintptr_t>(__builtin_frame_address(0)); at < high; at += sizeof(uintptr_t)) {
        const auto word = value_at<uintptr_t>(at);
        if (word == before) continue;  // runs of zeros
        before = word;
        if (is_in_flight(word)) return reinterpret_cast<void*>(word);  // NOLINT(performance-no-int-to-ptr)
    }
    return nullptr;
}

}  // namespace

[[gnu::noinline]] void* find_exception_in_flight(const void* high) noexcept {
    __builtin_unwind_init();  // spills the callee-saved registers into this frame
    void* found = search(reinterpret_cast<uintptr_t>(high));
    asm volatile("" ::: "memory");  // prevents a tail call: the frame stays
    return found;
}

}  // namespace weft::detail
