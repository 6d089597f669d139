// path_calls.h: system calls on names: links, modes, times, and what an open directory contains.
//
// Each returns the system call's result, or minus errno's value, and is never inlined
// (never_inlined.h). All may block. Where the system lacks one: -ENOTSUP.
//
// Threads: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace weft::detail::os {

[[nodiscard]] int path_symlink(const char* target, const char* path) noexcept;
[[nodiscard]] int path_link(const char* existing, const char* path) noexcept;

// Fills text, without an end, and returns the length; size: the target may be longer.
[[nodiscard]] int64_t path_read_link(const char* path, char* text, std::size_t size) noexcept;

[[nodiscard]] int path_change_mode(const char* path, uint32_t permissions) noexcept;

inline constexpr int64_t keep_time = (std::numeric_limits<int64_t>::min)();

// Nanoseconds since 1970, or keep_time. Follows symbolic links.
[[nodiscard]] int path_set_times(const char* path, int64_t accessed_ns, int64_t modified_ns) noexcept;

// For a directory that another process may replace by a link at any time. The name has no slash, or
// is a path that is resolved relative to the working directory, with at: here.
inline constexpr int here = -1;
// Returns a descriptor for directory_read(). A symbolic link is an error.
[[nodiscard]] int directory_open_at(int at, const char* name) noexcept;
[[nodiscard]] int entry_remove_at(int at, const char* name, bool is_directory) noexcept;

// Waits for no other process: -EWOULDBLOCK if another open file has it. Belongs to the open file,
// and ends with it.
[[nodiscard]] int try_lock_file(int fd, bool shared) noexcept;
[[nodiscard]] int unlock_file(int fd) noexcept;

// Copies up to size bytes between the positions of two files, in the system, and advances both. 0:
// the end of from, or a file that has no size. -ENOTSUP, -EXDEV, -EINVAL, -ENOSYS, -EBADF …: not
// these files; read and write them.
[[nodiscard]] int64_t copy_between_files(int from, int to, std::size_t size) noexcept;

}  // namespace weft::detail::os
