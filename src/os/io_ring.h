// io_ring.h: a queue of reads from files that the system works off by itself, and tells when they are done.
//
// On Linux io_uring, by its system calls alone. Two rings of memory are shared with the kernel: in one we put requests at the tail and the
// kernel takes them at the head, in the other it is the other way round. Each side writes its own end, and reads that of the other.
//
//      requests      tail: ours     head: the kernel's    a system call (submit) makes it take them
//      completions   head: ours     tail: the kernel's    the descriptor is readable while there are any
//
// Not asked for: a kernel thread that looks for requests (SQPOLL: a processor that never idles), completions only when their thread asks for
// them (DEFER_TASKRUN: one thread must own the ring; ours are stolen), sparing interrupts (COOP_TASKRUN: while the submitter computes, those on
// other threads would not hear of what is done).
//
// Kernels before 5.12 (no native workers) are told off: their rings had too many faults, and locked memory.
//
// Ordering: R1 (our tail is published) pairs with the kernel's acquire of it: the request is written. A1 (the kernel's tail is read) pairs with its
//           release: the completion is written. R2 (our head is published) pairs with the kernel's acquire: we have read the
//           completion, and its place may be used. A2 (the kernel's head is read) pairs with its release: the place of the request is free.
// Who:      see each; no call blocks but await.
// See:      docs/files.md, io_ring_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

struct iovec;

namespace weft::detail::os {

// A read.
struct ring_request {
    int fd;
    const iovec* into;  // alive, as the memory it names, until the completion has come
    uint32_t count;     // of pieces
    int64_t offset;     // from the beginning of the file
    uint64_t tag;       // comes back with the completion
};

struct ring_completion {
    uint64_t tag;
    int result;  // as of the system call; minus errno's value
};

class io_ring {
public:
    static constexpr uint32_t entries =
        128;  // requests that wait to be taken; there is room for twice as many completions

    io_ring() noexcept = default;
    // As if all had been done: memory must not be in use (await).
    ~io_ring();
    io_ring(const io_ring&) = delete;
    io_ring& operator=(const io_ring&) = delete;

    // Once. Returns 0 or an errno value: ENOSYS, EPERM where there is no io_uring, or it is forbidden; EOPNOTSUPP where it is too old.
    [[nodiscard]] int open() noexcept;

    // Readable while there are completions.
    [[nodiscard]] int fd() const noexcept { return fd_; }

    // ---- One thread at a time.

    // Puts a request at the end. False: no room.
    [[nodiscard]] bool push(const ring_request& r) noexcept;

    // Takes back the newest request, if the kernel has not taken it yet. Not while submit() goes on. Returns whether there was one.
    [[nodiscard]] bool take_back(uint64_t& tag) noexcept;

    // ---- Any thread, one at a time, also beside the above.

    // Makes the kernel take count requests. Returns how many it has taken, or minus errno's value.
    [[nodiscard]] int submit(uint32_t count) noexcept;

    // ---- One thread at a time, also beside the above.

    // The oldest completion. False: there is none.
    [[nodiscard]] bool pop(ring_completion& c) noexcept;

    // Waits until there are count completions that have not been popped, or it is interrupted.
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
