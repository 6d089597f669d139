// file_calls.h: system calls on files, for the file layer.
//
// Each returns the system call's result, or minus errno's value. Each is a separate function, never
// inlined, for the reason given in fd_calls.h. All except the try_ forms may block their thread for
// as long as a disk or the other side takes. They continue after a signal, except for file_close,
// after which the number is gone in any case.
//
// Threads: any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

struct iovec;

namespace weft::detail::os {

// Replaces the system's own constants, which differ between systems.
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

// The descriptor is not inherited by executed programs.
[[nodiscard]] int file_open(const char* path, const open_flags& how, uint32_t permissions) noexcept;

inline constexpr int64_t own_position = -1;  // as an offset: the descriptor's position, which the call advances

// offset: from the beginning of the file, or own_position.
[[nodiscard]] ssize_t file_read(int fd, const iovec* into, std::size_t count, int64_t offset) noexcept;
[[nodiscard]] ssize_t file_write(int fd, const iovec* from, std::size_t count, int64_t offset) noexcept;

// As file_read, but only data in memory: -EAGAIN if it needs a disk, -EOPNOTSUPP if the system
// cannot tell. Does not block.
[[nodiscard]] ssize_t try_file_read(int fd, const iovec* into, std::size_t count, int64_t offset) noexcept;

// As file_write, to a FIFO, a socket or a terminal. Returns -EPIPE without a SIGPIPE, not even a
// pending one. Does not continue after a signal.
[[nodiscard]] ssize_t stream_write(int fd, const iovec* from, std::size_t count, int64_t offset) noexcept;

// As stream_write, but never blocks, whatever the mode of the open file: -EAGAIN, or -EOPNOTSUPP if
// the system cannot tell.
[[nodiscard]] ssize_t try_stream_write(int fd, const iovec* from, std::size_t count, int64_t offset) noexcept;

// As readv and writev on a socket, but never block, whatever the mode of the open file: -EAGAIN.
// -EPIPE comes without a signal.
[[nodiscard]] ssize_t try_socket_read(int fd, const iovec* into, std::size_t count) noexcept;
[[nodiscard]] ssize_t try_socket_write(int fd, const iovec* from, std::size_t count) noexcept;

[[nodiscard]] bool is_terminal(int fd) noexcept;

// Reopens the terminal that fd refers to, non-blocking, with its own open file description, so that
// the first one keeps its mode. Negative: impossible (no /proc, no permission, no descriptor), or
// fd is the main side of a pseudo-terminal, which would become another one.
[[nodiscard]] int open_terminal_again(int fd, bool writes) noexcept;

// The mode of an open file, shared by all its users: whether calls on it wait.
[[nodiscard]] int make_blocking(int fd) noexcept;
[[nodiscard]] bool is_nonblocking(int fd) noexcept;

// Whether a poller can tell when the file is ready. -1: cannot be determined, because there are too
// many descriptors.
[[nodiscard]] int can_be_polled(int fd) noexcept;

enum class seek_from : uint8_t { begin, current, end };
[[nodiscard]] int64_t file_seek(int fd, int64_t offset, seek_from from) noexcept;

[[nodiscard]] int file_sync(int fd, bool data_only) noexcept;
[[nodiscard]] int file_truncate(int fd, int64_t size) noexcept;

// A file's status. kind: as in directory entries.
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

// follow: the status of a symbolic link's target instead of the link.
[[nodiscard]] int file_status_at(const char* path, bool follow, file_status& s) noexcept;

// Reads the entries of an open directory. Calls each(closure, name, kind) for those other than "."
// and "..".
[[nodiscard]] int directory_read(int fd, void (*each)(void* closure, const char* name, file_kind kind), void* closure);

[[nodiscard]] int path_rename(const char* from, const char* to) noexcept;
[[nodiscard]] int path_unlink(const char* path) noexcept;
[[nodiscard]] int path_make_directory(const char* path, uint32_t permissions) noexcept;
[[nodiscard]] int path_remove_directory(const char* path) noexcept;

}  // namespace weft::detail::os
