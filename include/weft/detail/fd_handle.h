// fd_handle.h: what a socket object owns: an open file descriptor, its place among all of them, and two deadlines.
//
// Movable. Its calls are made by any number of threads at a time, but for what moves, assigns or destroys it.
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

    // Takes fd over, which is open, non-blocking, and has just been made. Throws std::bad_alloc, and has closed it then.
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

    // Whoever waits for it is woken; calls that come later fail. The file is closed when the last call has returned. Any number of times.
    void close() noexcept;

    // The number, which is the caller's from now on; -1: there is none. Fatal while a call uses it.
    [[nodiscard]] int detach();

    [[nodiscard]] bool is_open() const noexcept;

    [[nodiscard]] int fd() const noexcept { return fd_; }

    // Calls that wait give up then, also those that wait now.
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
