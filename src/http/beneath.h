// beneath.h: opens files below a folder, and nothing outside of it.
//
// The kernel ensures that a path stays within the folder (openat2 with RESOLVE_BENEATH), despite
// "..", symbolic links, and links that are created during the lookup. Rejected: comparing the
// result of realpath() with the folder, because the path may lead to another file by the time it is
// opened.
//
// If the kernel has the whole path in its cache, the file is opened at once (RESOLVE_CACHED). If it
// needs the disk, the call is made by weft::blocking and delays no other green thread.
//
// If openat2 is missing (another system, Linux before 5.6, or a sandbox without it), one folder
// after the other is opened, with the same results. There are two differences: each level of the
// path needs a descriptor; and protected_symlinks, nosymfollow and the magic links of /proc have no
// effect, because the text of links is read.
//
// These functions return a descriptor, or the negated errno: after a call that may change threads,
// errno is that of another thread. Opening a FIFO or a terminal does not block.
//
// Threads: any thread.
#pragma once

#include <string>

namespace weft::http::detail {

// A descriptor for the other calls. Blocks the caller's thread: for the start of a program.
[[nodiscard]] int open_folder(const std::string& path) noexcept;

// relative: without a slash at its begin; "" is the folder. A path or a symbolic link that leads
// out of the folder is -EXDEV, as is an absolute link. Without follows_links a symbolic link is
// -ELOOP.
[[nodiscard]] int open_beneath(int folder, const std::string& relative, bool follows_links);

// open_beneath() without openat2. folder: not of O_PATH on systems other than Linux. The caller's
// thread may block. Throws std::bad_alloc.
[[nodiscard]] int open_step_by_step(int folder, std::string path, bool follows_links);

}  // namespace weft::http::detail
