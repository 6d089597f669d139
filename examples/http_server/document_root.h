// document_root.h: the folder that is served, and nothing outside of it.
//
// The system itself sees to it that a path does not leave the folder (openat2 with RESOLVE_BENEATH), by "..", by a symbolic link, or by one
// that is put there while it looks. Rejected: comparing the result of realpath() with the root, since what it has looked at may be something
// else by the time it is opened.
//
// What is known of the path already is opened at once (RESOLVE_CACHED). Where a disk is needed the call is made by weft::blocking,
// and holds up nobody.
//
// Where the system has no openat2 (Linux before 5.6, or a sandbox without it) symbolic links are not followed at all.
//
// Who: any thread.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <system_error>

#include <weft/fs.h>

namespace http_server {

// A regular file, open.
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

    // relative: without a slash in front; "" is the root. ec: std::errc::is_a_directory for a folder; no_such_file_or_directory also for
    // what lies outside, and for what is no file.
    [[nodiscard]] opened_file open(const std::string& relative, std::error_code& ec) const;

private:
    int folder_;
};

}  // namespace http_server
