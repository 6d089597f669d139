// fd_handle.h: owns an open file descriptor, its poll_desc, and two deadlines.
//
// Movable. Any number of threads may use it at a time, except while it is moved, assigned or
// destroyed.
//
// See: docs/netpoll.md
#pragma once

#include <cstdint>

#include <weft/detail/atomic.h>
#include <weft/detail/require.h>
#include <weft/detail/wait.h>

namespace weft::detail {

class poll_desc;

class fd_handle {
public:
    fd_handle() noexcept = default;

    // Takes ownership of fd. Requires: fd is open, non-blocking and newly created. Throws
    // std::bad_alloc, after closing fd.
    explicit fd_handle(int fd);

    fd_handle(fd_handle&& other) noexcept { take(other); }

    fd_handle& operator=(fd_handle&& other) noexcept {
        if (this != &other) {
            close();
            take(other);
        }
        return *this;
    }

    fd_handle(const fd_handle&) = delete;
    fd_handle& operator=(const fd_handle&) = delete;

    // Closes it.
    ~fd_handle() { close(); }

    // Wakes all waiters; later calls fail. The file is closed when the last call has returned. May
    // be called any number of times.
    void close() noexcept;

    // Gives the descriptor to the caller and returns it; -1 if it owns no descriptor. Fatal while a
    // call uses it.
    [[nodiscard]] int detach();

    [[nodiscard]] bool is_open() const noexcept;

    [[nodiscard]] int fd() const noexcept { return fd_; }

    // Sets the time at which waiting calls give up, including those that already wait.
    void set_read_deadline(int64_t deadline_ns) noexcept;
    void set_write_deadline(int64_t deadline_ns) noexcept;

    [[nodiscard]] int64_t read_deadline() const noexcept {
        return read_deadline_.load(relaxed);  // relaxed: an edge follows
    }

    [[nodiscard]] int64_t write_deadline() const noexcept {
        return write_deadline_.load(relaxed);  // relaxed: as above
    }

    [[nodiscard]] poll_desc* desc() const noexcept { return desc_; }

    [[nodiscard]] uint32_t generation() const noexcept { return generation_; }

private:
    void take(fd_handle& other) noexcept;

    poll_desc* desc_ = nullptr;
    uint32_t generation_ = 0;
    int fd_ = -1;
    atomic<int64_t> read_deadline_{never};
    atomic<int64_t> write_deadline_{never};
};

}  // namespace weft::detail
