// io_ring.h: a queue of file reads that the system performs asynchronously: io_uring.
//
// Two rings are shared with the kernel. Each side writes its own end and reads the other's.
//
//      requests      tail: ours     head: the kernel's    submit makes the kernel take them
//      completions   head: ours     tail: the kernel's    the descriptor is readable unless empty
//
// Rejected: SQPOLL: its kernel thread polls, so a processor would never idle.
// Rejected: DEFER_TASKRUN: one thread must own the ring, and ours migrates.
// Rejected: COOP_TASKRUN: other threads see no completions while the submitter computes.
// Rejected: Kernels before 5.12 (no native workers): many bugs, and locked memory.
//
// Ordering: R1 (our tail; a request is written) and R2 (our head; a slot is free) pair with the
//           kernel's acquires. A1 (its tail) and A2 (its head) pair with its releases.
// Threads:  see each; only await blocks.
// See:      docs/files.md, io_ring_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

struct iovec;

namespace weft::detail::os {

struct ring_request {
    int fd;
    const iovec* into;  // it and its memory live until the completion
    uint32_t count;     // of pieces
    int64_t offset;
    uint64_t tag;
};

struct ring_completion {
    uint64_t tag;
    int result;  // the system call's, or minus errno's value
};

class io_ring {
public:
    static constexpr uint32_t entries = 128;  // requests not yet taken; there is room for twice as many completions

    io_ring() noexcept = default;
    // Requires: the kernel uses the memory of no request (await).
    ~io_ring();
    io_ring(const io_ring&) = delete;
    io_ring& operator=(const io_ring&) = delete;

    // Called once. Returns 0 or an errno value: ENOSYS or EPERM if io_uring is missing or
    // forbidden; EOPNOTSUPP if it is too old.
    [[nodiscard]] int open() noexcept;

    // Readable while there are completions.
    [[nodiscard]] int fd() const noexcept { return fd_; }

    // ---- One thread at a time.

    // Returns false if the ring is full.
    [[nodiscard]] bool push(const ring_request& r) noexcept;

    // Takes back the newest request that the kernel has not taken. Returns false if it has taken
    // all. Must not run during submit().
    [[nodiscard]] bool take_back(uint64_t& tag) noexcept;

    // ---- Any thread, one at a time, concurrently with the above.

    // Returns how many requests the kernel has taken, or minus errno's value.
    [[nodiscard]] int submit(uint32_t count) noexcept;

    // ---- One thread at a time, concurrently with the above.

    // Takes the oldest completion. Returns false if the ring is empty.
    [[nodiscard]] bool pop(ring_completion& c) noexcept;

    // Waits for count completions that have not been popped, or an interruption.
    void await(uint32_t count) noexcept;

private:
    template <typename T>
    [[nodiscard]] T* at(uint32_t offset) const noexcept {
        return reinterpret_cast<T*>(rings_ + offset);
    }

    // Immutable after open.
    int fd_ = -1;
    std::byte* rings_ = nullptr;
    std::size_t rings_size_ = 0;
    void* requests_ = nullptr;
    std::size_t requests_size_ = 0;
    uint32_t* request_head_ = nullptr;
    uint32_t* request_tail_ = nullptr;
    uint32_t* request_order_ = nullptr;
    uint32_t request_mask_ = 0;
    uint32_t* completion_head_ = nullptr;
    uint32_t* completion_tail_ = nullptr;
    void* completions_ = nullptr;
    uint32_t completion_mask_ = 0;
};

}  // namespace weft::detail::os
