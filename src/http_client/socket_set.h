// socket_set.h: libcurl's sockets, and one descriptor that is readable if any of them is ready.
//
// The driver has one green thread for any number of sockets. It waits for the descriptor of the
// set, so a wake-up costs the same however many sockets there are.
//
// libcurl says what it waits for, and takes that back before it closes a socket. The set passes
// each such call on to the kernel at once. So the number of a closed socket is never in the set,
// and a new socket with the same number is a new entry. An event that was taken from the kernel
// just before its socket was closed may reach the new one: libcurl then finds it not ready, and
// goes on.
//
// Rejected: a weft::select_set of the sockets. It asks the system about each socket at each wait.
// Rejected: a green thread with weft::wait_fd() for each socket. Its descriptor must not be closed
//           while it waits, and libcurl closes it within a call that cannot wait for a green
//           thread.
//
// Threads: the driver's green thread.
#pragma once

#include <cstddef>
#include <span>

#include <weft/wait_fd.h>

namespace weft::http::detail {

class socket_set {
public:
    struct event {
        int fd;
        bool is_readable;
        bool is_writable;
        bool has_failed;
    };

    // Throws std::system_error.
    socket_set();
    ~socket_set();
    socket_set(const socket_set&) = delete;
    socket_set& operator=(const socket_set&) = delete;

    // Sets what fd is watched for; adds it if it is new. Returns false if the system refuses.
    [[nodiscard]] bool watch(int fd, bool for_reading, bool for_writing) noexcept;

    void forget(int fd) noexcept;

    [[nodiscard]] bool is_empty() const noexcept { return size_ == 0; }

    // Writes what is ready into events, and returns the number. Does not wait.
    [[nodiscard]] std::size_t ready(std::span<event> events) noexcept;

    // Readable if a socket is ready.
    [[nodiscard]] const watched_fd& descriptor() const noexcept { return watched_; }

private:
    int fd_;
    watched_fd watched_;
    std::size_t size_ = 0;
};

}  // namespace weft::http::detail
