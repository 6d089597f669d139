// futex_freebsd.cc: waiting for a word, by _umtx_op(2): os.h, and commit.h.
#include <sys/types.h>
#include <sys/umtx.h>

#include <cerrno>
#include <ctime>
#include <utility>

#include "os/commit.h"
#include "os/os.h"

namespace weft::detail::os {

bool futex_wait(atomic<uint32_t>& word, uint32_t expected, int64_t deadline_ns) noexcept {
    static_assert(sizeof(word) == sizeof(uint32_t));
    if (deadline_ns == INT64_MAX) {
        _umtx_op(&word, UMTX_OP_WAIT_UINT_PRIVATE, expected, nullptr, nullptr);
        return true;
    }
    _umtx_time limit{};
    limit._timeout = {.tv_sec = deadline_ns / 1'000'000'000, .tv_nsec = deadline_ns % 1'000'000'000};
    limit._flags = UMTX_ABSTIME;
    limit._clockid = CLOCK_MONOTONIC;
    // The system takes the size of the limit where others take a pointer.
    auto* const size = reinterpret_cast<void*>(sizeof(limit));  // NOLINT(performance-no-int-to-ptr)
    return _umtx_op(&word, UMTX_OP_WAIT_UINT_PRIVATE, expected, size, &limit) == 0 || errno != ETIMEDOUT;
}

void futex_wake_one(atomic<uint32_t>& word) noexcept { _umtx_op(&word, UMTX_OP_WAKE_PRIVATE, 1, nullptr, nullptr); }

// A wait that has timed out reports EFAULT if the kernel cannot read the word.
bool is_readable(const void* address) noexcept {
    const int before = errno;
    auto* word = reinterpret_cast<uint32_t*>(reinterpret_cast<uintptr_t>(address) & ~uintptr_t{3});
    timespec now{};
    const int result = _umtx_op(word, UMTX_OP_WAIT_UINT_PRIVATE, 0, nullptr, &now);
    return result == 0 || std::exchange(errno, before) != EFAULT;
}

}  // namespace weft::detail::os
