// path_calls_windows.cc: see path_calls.h. Windows has the concepts, but not these calls.
#include <cerrno>

#include "os/path_calls.h"

namespace weft::detail::os {

int path_symlink(const char* /*target*/, const char* /*path*/) noexcept { return -ENOTSUP; }

int path_link(const char* /*existing*/, const char* /*path*/) noexcept { return -ENOTSUP; }

int64_t path_read_link(const char* /*path*/, char* /*text*/, std::size_t /*size*/) noexcept { return -ENOTSUP; }

int path_change_mode(const char* /*path*/, uint32_t /*permissions*/) noexcept { return -ENOTSUP; }

int path_set_times(const char* /*path*/, int64_t /*accessed_ns*/, int64_t /*modified_ns*/) noexcept { return -ENOTSUP; }

int directory_open_at(int /*at*/, const char* /*name*/) noexcept { return -ENOTSUP; }

int entry_remove_at(int /*at*/, const char* /*name*/, bool /*is_directory*/) noexcept { return -ENOTSUP; }

int try_lock_file(int /*fd*/, bool /*shared*/) noexcept { return -ENOTSUP; }

int unlock_file(int /*fd*/) noexcept { return -ENOTSUP; }

}  // namespace weft::detail::os
