// watch_calls.cc: see watch_calls.h, for systems without inotify.
//
// Rejected: kqueue. It needs a descriptor for each file, and does not tell which entry of a
//           directory has changed.
#include "os/watch_calls.h"

#include <cerrno>

namespace weft::detail::os {

int watch_open() noexcept { return -ENOTSUP; }

int watch_add(int /*fd*/, const char* /*path*/) noexcept { return -ENOTSUP; }

int watch_remove(int /*fd*/, int /*watch*/) noexcept { return -ENOTSUP; }

void watch_parse(const char* /*data*/,
                 std::size_t /*size*/,
                 void (* /*each*/)(void* closure, const watch_report& r),
                 void* /*closure*/) {}

}  // namespace weft::detail::os
