// file_calls.h: system calls on files, as the file layer uses them.
//
// Each returns what the system call returns, or minus errno's value, and is a function of its own, never inlined, for the reason given in
// fd_calls.h. All but the try_ forms may block their thread for as long as a disk, or whoever is at the other end, wants; they go on
// where a signal interrupts them, except for file_close, after which the number is gone in any case.
//
// Who: any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

struct iovec;

namespace weft::detail::os {

// As the system's own constants, which differ from one to the next.
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

// Not inherited by programs that are executed.
[[nodiscard]] int file_open(const char* path, const open_flags& how, uint32_t permissions) noexcept;

inline constexpr int64_t own_position = -1;  // as an offset: where the descriptor is; the call moves it on

// offset: from the beginning of the file, or own_position.
[[nodiscard]] ssize_t file_read(int fd, const iovec* into, std::size_t count, int64_t offset) noexcept;
[[nodiscard]] ssize_t file_write(int fd, const iovec* from, std::size_t count, int64_t offset) noexcept;

// As file_read, but only what is in memory: -EAGAIN where a disk would be needed, -EOPNOTSUPP where the system cannot tell. Does not block.
[[nodiscard]] ssize_t try_file_read(int fd, const iovec* into, std::size_t count, int64_t offset) noexcept;

// As file_write, to a FIFO, a socket or a terminal: no SIGPIPE comes, and none stays behind: -EPIPE. It does not go on where a signal
// interrupts it.
[[nodiscard]] ssize_t stream_write(int fd, const iovec* from, std::size_t count, int64_t offset) noexcept;

// As stream_write, but never blocks, whatever the mode of the open file: -EAGAIN, or -EOPNOTSUPP where the system cannot tell.
[[nodiscard]] ssize_t try_stream_write(int fd, const iovec* from, std::size_t count, int64_t offset) noexcept;

// As readv and writev on a socket, but never block, whatever the mode of the open file: -EAGAIN. -EPIPE comes without a signal.
[[nodiscard]] ssize_t try_socket_read(int fd, const iovec* into, std::size_t count) noexcept;
[[nodiscard]] ssize_t try_socket_write(int fd, const iovec* from, std::size_t count) noexcept;

[[nodiscard]] bool is_terminal(int fd) noexcept;

// Opens the terminal that fd refers to once more, non-blocking: a description of its own, so the mode of the first one stays. Negative:
// that is impossible (no /proc, no permission, no descriptor), or fd is the main side of a pseudo-terminal, which would become another one.
[[nodiscard]] int open_terminal_again(int fd, bool writes) noexcept;

// The mode of an open file, which all that share it have: calls on it wait, or do not.
[[nodiscard]] int make_blocking(int fd) noexcept;
[[nodiscard]] bool is_nonblocking(int fd) noexcept;

// Whether a poller can tell when the file is ready. -1: that cannot be found out, because there are too many descriptors.
[[nodiscard]] int can_be_polled(int fd) noexcept;

enum class seek_from : uint8_t { begin, current, end };
[[nodiscard]] int64_t file_seek(int fd, int64_t offset, seek_from from) noexcept;

[[nodiscard]] int file_sync(int fd, bool data_only) noexcept;
[[nodiscard]] int file_truncate(int fd, int64_t size) noexcept;

// What is known of a file. kind: as in directory entries.
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

// follow: of what a symbolic link leads to, and not of the link.
[[nodiscard]] int file_status_at(const char* path, bool follow, file_status& s) noexcept;

// Entries of an open directory, one after the other. each(closure, name, kind) is called for those that are neither "." nor "..".
[[nodiscard]] int directory_read(int fd, void (*each)(void* closure, const char* name, file_kind kind), void* closure);

[[nodiscard]] int path_rename(const char* from, const char* to) noexcept;
[[nodiscard]] int path_unlink(const char* path) noexcept;
[[nodiscard]] int path_make_directory(const char* path, uint32_t permissions) noexcept;
[[nodiscard]] int path_remove_directory(const char* path) noexcept;

}  // namespace weft::detail::os
