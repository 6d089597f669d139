// futex_windows.cc: waiting for a word, by WaitOnAddress: see os.h.
//
// It takes how long to wait, in milliseconds, and may return early. So the last millisecond before
// the deadline is rounded up, and a time that is over early counts as a spurious wake-up.
#include <algorithm>

#include "base/time_units.h"
#include "os/os.h"
#include "os/windows_api.h"

namespace weft::detail::os {

bool futex_wait(atomic<uint32_t>& word, uint32_t expected, int64_t deadline_ns) noexcept {
    constexpr int64_t longest_ms = INT32_MAX;
    DWORD wait_ms = INFINITE;
    if (deadline_ns != INT64_MAX) {
        const int64_t left_ns = deadline_ns - monotonic_ns();
        if (left_ns <= 0) return false;
        wait_ms = static_cast<DWORD>(std::min((left_ns + ns_per_ms - 1) / ns_per_ms, longest_ms));
    }
    if (WaitOnAddress(&word, &expected, sizeof(expected), wait_ms) != 0) return true;
    return monotonic_ns() < deadline_ns;
}

void futex_wake_one(atomic<uint32_t>& word) noexcept { WakeByAddressSingle(&word); }

}  // namespace weft::detail::os
