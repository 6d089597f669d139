// watch_calls.h: changes of files and directories, as the system reports them (inotify).
//
// Each returns a result, or minus errno's value; -ENOTSUP: the system has no such descriptor.
//
// Threads: any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail::os {

// As fs::watch_kind, in the same order.
enum class watch_change : uint8_t {
    created,
    modified,
    written,
    removed,
    moved_from,
    moved_to,
    attributes,
    gone,
    overflow,
};

struct watch_report {
    watch_change what;
    int watch;        // -1: an overflow, which concerns all
    uint32_t cookie;  // the same for moved_from and moved_to of one move; otherwise 0
    bool is_directory;
    bool watch_ended;  // its number may be reused
    const char* name;  // nullptr: what is watched itself
};

// A descriptor that can be polled; non-blocking, and closed in executed programs.
[[nodiscard]] int watch_open() noexcept;
[[nodiscard]] int watch_add(int fd, const char* path) noexcept;
[[nodiscard]] int watch_remove(int fd, int watch) noexcept;

// Calls each for all reports in what was read from the descriptor.
void watch_parse(const char* data, std::size_t size, void (*each)(void* closure, const watch_report& r), void* closure);

inline constexpr std::size_t watch_buffer_size = 4096;  // holds a report with a name of any length

}  // namespace weft::detail::os
