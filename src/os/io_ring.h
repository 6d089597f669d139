// io_ring.h: a queue of file reads that the system performs asynchronously.
//
// On Linux it is io_uring, by system calls alone. Two rings of memory are shared with the kernel.
// We put requests at the tail of one, and the kernel takes them at its head; completions go the
// other way. Each side writes its own end and reads the other's.
//
//      requests      tail: ours     head: the kernel's    a system call (submit) makes it take them
//      completions   head: ours     tail: the kernel's    the descriptor is readable unless empty
//
// Options not used:
// - SQPOLL, a kernel thread that polls for requests: a processor would never idle.
// - DEFER_TASKRUN, completions only when their thread asks for them: one thread must own the ring,
//   and ours migrates.
// - COOP_TASKRUN, fewer interrupts: while the submitter computes, other threads would not see
//   completions.
//
// Kernels before 5.12 (no native workers) are refused: their rings had too many bugs, and locked
// memory.
//
// Ordering: R1 (our tail is published) pairs with the kernel's acquire of it: the request is
//           written. A1 (the kernel's tail is read) pairs with its release: the completion is
//           written. R2 (our head is published) pairs with the kernel's acquire: we have read the
//           completion, and its slot may be reused. A2 (the kernel's head is read) pairs with its
//           release: the request's slot is free.
// Threads:  see each; only await blocks.
// See:      docs/files.md, io_ring_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

struct iovec;

namespace weft::detail::os {

// A read.
struct ring_request {
    int fd;
    const iovec* into;  // lives until the completion, as does the memory it names
    uint32_t count;     // number of pieces
    int64_t offset;     // from the beginning of the file
    uint64_t tag;       // returned with the completion
};

struct ring_completion {
    uint64_t tag;
    int result;  // the system call's result, or minus errno's value
};

class io_ring {
public:
    static constexpr uint32_t entries = 128;  // requests not yet taken; there is room for twice as many completions

    io_ring() noexcept = default;
    // Assumes that all requests are done: their memory must not be in use (await).
    ~io_ring();
    io_ring(const io_ring&) = delete;
    io_ring& operator=(const io_ring&) = delete;

    // Called once. Returns 0 or an errno value: ENOSYS or EPERM if io_uring is missing or
    // forbidden; EOPNOTSUPP if it is too old.
    [[nodiscard]] int open() noexcept;

    // Readable while there are completions.
    [[nodiscard]] int fd() const noexcept { return fd_; }

    // ---- One thread at a time.

    // Appends a request. Returns false if there is no room.
    [[nodiscard]] bool push(const ring_request& r) noexcept;

    // Takes back the newest request, if the kernel has not taken it yet. Must not run during
    // submit(). Returns whether it took one.
    [[nodiscard]] bool take_back(uint64_t& tag) noexcept;

    // ---- Any thread, one at a time, concurrently with the above.

    // Makes the kernel take count requests. Returns how many it has taken, or minus errno's value.
    [[nodiscard]] int submit(uint32_t count) noexcept;

    // ---- One thread at a time, concurrently with the above.

    // Takes the oldest completion. Returns false if the ring is empty.
    [[nodiscard]] bool pop(ring_completion& c) noexcept;

    // Waits until count completions have not been popped, or it is interrupted.
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
