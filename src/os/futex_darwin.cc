// futex_darwin.cc: waiting for a word: see os.h.
//
// os_sync_wait_on_address (macOS 14.4) is the documented call. Before it, the C++ library itself
// used __ulock_wait2 (macOS 11), and so does this file. Both take how long to wait, on a clock that
// stands still while the machine sleeps. So a time that is over early counts as a spurious wake-up.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "os/os.h"

// Newer than some headers, or in none.
extern "C" {
[[gnu::weak]] int os_sync_wait_on_address(void* address, uint64_t value, size_t size, uint32_t flags);
[[gnu::weak]] int os_sync_wait_on_address_with_timeout(
    void* address, uint64_t value, size_t size, uint32_t flags, uint32_t clock, uint64_t timeout_ns);
[[gnu::weak]] int os_sync_wake_by_address_any(void* address, size_t size, uint32_t flags);
int __ulock_wait2(uint32_t operation, void* address, uint64_t value, uint64_t timeout_ns, uint64_t value2);  // NOLINT
int __ulock_wake(uint32_t operation, void* address, uint64_t value);                                         // NOLINT
}

namespace weft::detail::os {

namespace {

constexpr uint32_t clock_of_system = 32;  // OS_CLOCK_MACH_ABSOLUTE_TIME
constexpr uint32_t compare_and_wait = 1;  // UL_COMPARE_AND_WAIT
constexpr std::size_t word_size = sizeof(uint32_t);

bool is_documented() noexcept {
    return &os_sync_wait_on_address != nullptr && &os_sync_wait_on_address_with_timeout != nullptr &&
           &os_sync_wake_by_address_any != nullptr;
}

}  // namespace

bool futex_wait(atomic<uint32_t>& word, uint32_t expected, int64_t deadline_ns) noexcept {
    static_assert(sizeof(word) == word_size);
    const bool for_ever = deadline_ns == INT64_MAX;
    const auto left_ns = for_ever ? 0 : static_cast<uint64_t>(std::max(deadline_ns - monotonic_ns(), int64_t{1}));
    int result = 0;
    if (!is_documented()) {
        result = __ulock_wait2(compare_and_wait, &word, expected, left_ns, 0);  // 0: without a limit
    } else if (for_ever) {
        result = os_sync_wait_on_address(&word, expected, word_size, 0);
    } else {
        result = os_sync_wait_on_address_with_timeout(&word, expected, word_size, 0, clock_of_system, left_ns);
    }
    return result >= 0 || errno != ETIMEDOUT || monotonic_ns() < deadline_ns;
}

void futex_wake_one(atomic<uint32_t>& word) noexcept {
    if (is_documented()) {
        static_cast<void>(os_sync_wake_by_address_any(&word, word_size, 0));
    } else {
        static_cast<void>(__ulock_wake(compare_and_wait, &word, 0));
    }
}

}  // namespace weft::detail::os
