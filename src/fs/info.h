// info.h: converts the system's file status to the public form.
#pragma once

#include <chrono>

#include <weft/fs.h>

#include "os/file_calls.h"

namespace weft::fs::detail {

[[nodiscard]] constexpr file_type type_of(weft::detail::os::file_kind kind) noexcept {
    static_assert(static_cast<int>(file_type::block_device) == static_cast<int>(weft::detail::os::file_kind::block));
    return static_cast<file_type>(kind);
}

[[nodiscard]] inline file_info info_of(const weft::detail::os::file_status& s) noexcept {
    using std::chrono::system_clock;
    const auto since_1970 = std::chrono::duration_cast<system_clock::duration>(std::chrono::nanoseconds(s.modified_ns));
    return {.type = type_of(s.kind),
            .permissions = s.permissions,
            .size = static_cast<uint64_t>(s.size),
            .modified = system_clock::time_point(since_1970),
            .device = s.device,
            .inode = s.inode,
            .links = s.links,
            .user = s.user,
            .group = s.group};
}

}  // namespace weft::fs::detail
