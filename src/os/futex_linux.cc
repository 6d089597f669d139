// futex_linux.cc: waiting for a word: os.h, and commit.h.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "os/commit.h"
#include "os/late_handlers.h"
#include "os/os.h"
#include "os/timespec.h"

namespace weft::detail::os {

namespace {

bool futex_wait_until(const atomic<uint32_t>& word, uint32_t expected, int64_t deadline_ns) noexcept {
    static_assert(sizeof(word) == sizeof(uint32_t));
    const timespec deadline = to_timespec(deadline_ns);
    const timespec* limit = deadline_ns == INT64_MAX ? nullptr : &deadline;
    // This form takes an absolute deadline on the monotonic clock.
    const long result =
        syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, limit, nullptr, FUTEX_BITSET_MATCH_ANY);
    return result == 0 || errno != ETIMEDOUT;
}

}  // namespace

bool futex_wait(atomic<uint32_t>& word, uint32_t expected, int64_t deadline_ns) noexcept {
    if constexpr (!handlers_come_late) return futex_wait_until(word, expected, deadline_ns);
    for (;;) {
        constexpr int64_t nap_ns = 20'000'000;
        const int64_t nap_over_ns = monotonic_ns() + nap_ns;
        if (futex_wait_until(word, expected, std::min(nap_over_ns, deadline_ns))) return true;
        if (deadline_ns <= nap_over_ns) return false;
        const timespec none{};
        ::nanosleep(&none, nullptr);  // ThreadSanitizer intercepts it
    }
}

void futex_wake_one(atomic<uint32_t>& word) noexcept {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// A futex wait without time reports EFAULT if the kernel cannot read the word.
bool is_readable(const void* address) noexcept {
    const int before = errno;
    auto* word = reinterpret_cast<uint32_t*>(reinterpret_cast<uintptr_t>(address) & ~uintptr_t{3});
    const timespec now{};
    const long result = syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, &now, nullptr, 0);
    return result == 0 || std::exchange(errno, before) != EFAULT;
}

}  // namespace weft::detail::os
