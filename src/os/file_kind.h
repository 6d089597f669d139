// file_kind.h: the kind of a file, from the mode that the system gives.
#pragma once

#include <sys/stat.h>

#include "os/file_calls.h"

namespace weft::detail::os {

inline file_kind kind_of(mode_t mode) noexcept {
    switch (mode & S_IFMT) {
        case S_IFREG:
            return file_kind::regular;
        case S_IFDIR:
            return file_kind::directory;
        case S_IFLNK:
            return file_kind::symlink;
        case S_IFIFO:
            return file_kind::fifo;
        case S_IFSOCK:
            return file_kind::socket;
        case S_IFCHR:
            return file_kind::character;
        case S_IFBLK:
            return file_kind::block;
        default:
            return file_kind::unknown;
    }
}

}  // namespace weft::detail::os
