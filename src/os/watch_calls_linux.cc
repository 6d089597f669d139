// watch_calls_linux.cc: see watch_calls.h.
#include <limits.h>  // NOLINT(modernize-deprecated-headers): NAME_MAX
#include <sys/inotify.h>

#include <cerrno>
#include <cstring>

#include "os/never_inlined.h"
#include "os/watch_calls.h"

namespace weft::detail::os {

namespace {

static_assert(watch_buffer_size >= sizeof(inotify_event) + NAME_MAX + 1);

constexpr uint32_t watched = IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_DELETE | IN_DELETE_SELF | IN_MOVED_FROM |
                             IN_MOVED_TO | IN_MOVE_SELF | IN_ATTRIB;

struct bit {
    uint32_t mask;
    watch_change what;
};

constexpr bit bits[] = {
    {IN_CREATE, watch_change::created},        {IN_MODIFY, watch_change::modified},
    {IN_CLOSE_WRITE, watch_change::written},   {IN_DELETE, watch_change::removed},
    {IN_MOVED_FROM, watch_change::moved_from}, {IN_MOVED_TO, watch_change::moved_to},
    {IN_ATTRIB, watch_change::attributes},     {IN_DELETE_SELF, watch_change::removed},
    {IN_MOVE_SELF, watch_change::moved_from},  {IN_IGNORED, watch_change::gone},
    {IN_Q_OVERFLOW, watch_change::overflow},
};

}  // namespace

WEFT_OS_CALL int watch_open() noexcept { return or_errno(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)); }

WEFT_OS_CALL int watch_add(int fd, const char* path) noexcept {
    return or_errno(::inotify_add_watch(fd, path, watched));
}

WEFT_OS_CALL int watch_remove(int fd, int watch) noexcept { return or_errno(::inotify_rm_watch(fd, watch)); }

void watch_parse(const char* data,
                 std::size_t size,
                 void (*each)(void* closure, const watch_report& r),
                 void* closure) {
    for (std::size_t at = 0; size - at >= sizeof(inotify_event);) {
        inotify_event event;
        std::memcpy(&event, data + at, sizeof(event));
        const char* const name = event.len != 0 ? data + at + sizeof(event) : nullptr;
        for (const bit& b : bits) {
            if ((event.mask & b.mask) == 0) continue;
            each(closure, {.what = b.what,
                           .watch = event.wd,
                           .cookie = event.cookie,
                           .is_directory = (event.mask & IN_ISDIR) != 0,
                           .watch_ended = (event.mask & IN_IGNORED) != 0,
                           .name = name});
        }
        at += sizeof(event) + event.len;
    }
}

}  // namespace weft::detail::os
