// document_root.h: opens files of the served folder, and nothing outside of it.
//
// The kernel ensures that a path stays within the folder (openat2 with RESOLVE_BENEATH), despite
// "..", symbolic links, and links that are created during the lookup. Rejected: comparing the
// result of realpath() with the root, because the path may lead to another file by the time it is
// opened.
//
// If the kernel has the whole path in its cache, the file is opened at once (RESOLVE_CACHED). If it
// needs the disk, the call is made by weft::blocking and delays no other green thread.
//
// If openat2 is missing (Linux before 5.6, or a sandbox without it), symbolic links are not
// followed at all.
//
// Threads: any thread.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <system_error>

#include <weft/fs.h>

namespace http_server {

// An open regular file.
struct opened_file {
    weft::fs::file file;
    uint64_t size = 0;
    std::time_t modified = 0;
    std::string tag;  // for ETag: changes with the content
};

class document_root {
public:
    // Throws std::system_error.
    explicit document_root(const std::string& path);
    ~document_root();

    document_root(const document_root&) = delete;
    document_root& operator=(const document_root&) = delete;

    // relative has no leading slash; "" is the root. ec is std::errc::is_a_directory for a folder.
    // It is no_such_file_or_directory also for paths outside of the root, and for what is not a
    // regular file.
    [[nodiscard]] opened_file open(const std::string& relative, std::error_code& ec) const;

private:
    int folder_;
};

}  // namespace http_server
