// file_calls.h: system calls on files, for the file layer.
//
// Each returns the system call's result, or minus errno's value, and is never inlined
// (never_inlined.h). All except the try_ forms may block. open, read, write, sync and truncate
// continue after a signal.
//
// Threads: any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

struct iovec;

namespace weft::detail::os {

struct open_flags {
    bool read = false;
    bool write = false;
    bool create = false;
    bool exclusive = false;
    bool truncate = false;
    bool append = false;
    bool data_sync = false;
    bool directory = false;
    bool nonblocking = false;
};

// Executed programs do not inherit the descriptor.
[[nodiscard]] int file_open(const char* path, const open_flags& how, uint32_t permissions) noexcept;

inline constexpr int64_t own_position = -1;  // an offset: the descriptor's position, which the call advances

// offset: from the beginning of the file, or own_position.
[[nodiscard]] ssize_t file_read(int fd, const iovec* into, std::size_t count, int64_t offset) noexcept;
[[nodiscard]] ssize_t file_write(int fd, const iovec* from, std::size_t count, int64_t offset) noexcept;

// Whether the file has a position, unlike a pipe, a socket or a terminal.
[[nodiscard]] bool file_has_positions(int fd) noexcept;

// As file_read, but returns -EAGAIN instead of waiting for a disk, or -EOPNOTSUPP if the system
// cannot tell what is in memory.
[[nodiscard]] ssize_t try_file_read(int fd, const iovec* into, std::size_t count, int64_t offset) noexcept;

// As file_write, to a FIFO, a socket or a terminal, but does not continue after a signal. Returns
// -EPIPE without a SIGPIPE, not even a pending one.
[[nodiscard]] ssize_t stream_write(int fd, const iovec* from, std::size_t count, int64_t offset) noexcept;

// As stream_write, but returns -EAGAIN instead of blocking, whatever the file's mode, or
// -EOPNOTSUPP if the system cannot tell.
[[nodiscard]] ssize_t try_stream_write(int fd, const iovec* from, std::size_t count, int64_t offset) noexcept;

// The same on a socket. -EPIPE comes without a signal.
[[nodiscard]] ssize_t try_socket_read(int fd, const iovec* into, std::size_t count) noexcept;
[[nodiscard]] ssize_t try_socket_write(int fd, const iovec* from, std::size_t count) noexcept;

[[nodiscard]] bool is_terminal(int fd) noexcept;

// Reopens fd's terminal, non-blocking, with a mode of its own. Negative on failure, and for the
// main side of a pseudo-terminal, which would become another one.
[[nodiscard]] int open_terminal_again(int fd, bool writes) noexcept;

// The mode of an open file, shared by all its users.
[[nodiscard]] int make_blocking(int fd) noexcept;
[[nodiscard]] bool is_nonblocking(int fd) noexcept;

// Returns -1 if that is unknown, because there are too many descriptors.
[[nodiscard]] int can_be_polled(int fd) noexcept;

enum class seek_from : uint8_t { begin, current, end };
[[nodiscard]] int64_t file_seek(int fd, int64_t offset, seek_from from) noexcept;

[[nodiscard]] int file_sync(int fd, bool data_only) noexcept;
[[nodiscard]] int file_truncate(int fd, int64_t size) noexcept;

enum class file_kind : uint8_t { unknown, regular, directory, symlink, fifo, socket, character, block };

struct file_status {
    file_kind kind;
    uint32_t permissions;
    int64_t size;
    int64_t modified_ns;  // since 1970
    uint64_t device;
    uint64_t inode;
    uint64_t links;
    uint32_t user;
    uint32_t group;
};

[[nodiscard]] int file_status_of(int fd, file_status& s) noexcept;

// follow: the status of a symbolic link's target.
[[nodiscard]] int file_status_at(const char* path, bool follow, file_status& s) noexcept;

// Omits "." and "..".
[[nodiscard]] int directory_read(int fd, void (*each)(void* closure, const char* name, file_kind kind), void* closure);

[[nodiscard]] int path_rename(const char* from, const char* to) noexcept;
[[nodiscard]] int path_unlink(const char* path) noexcept;
[[nodiscard]] int path_make_directory(const char* path, uint32_t permissions) noexcept;
[[nodiscard]] int path_remove_directory(const char* path) noexcept;

}  // namespace weft::detail::os
