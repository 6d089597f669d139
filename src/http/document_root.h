// document_root.h: the folder that a handler serves, and the files in it.
//
// Threads: any thread.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <system_error>

#include <weft/fs.h>

namespace weft::http::detail {

// An open regular file.
struct opened_file {
    fs::file file;
    uint64_t size = 0;
    std::time_t modified = 0;
    std::string tag;  // for ETag: changes with the content
};

// Fills in what the file is. ec is std::errc::is_a_directory for a folder, and
// no_such_file_or_directory for what is not a regular file.
[[nodiscard]] opened_file describe(fs::file file, std::error_code& ec);

class document_root {
public:
    // Throws std::system_error.
    document_root(const std::string& path, bool follows_links);
    ~document_root();

    document_root(const document_root&) = delete;
    document_root& operator=(const document_root&) = delete;

    // relative has no leading slash; "" is the root. ec is as that of describe(). It is
    // no_such_file_or_directory also for paths outside of the root.
    [[nodiscard]] opened_file open(const std::string& relative, std::error_code& ec) const;

private:
    const int folder_;
    const bool follows_links_;
};

}  // namespace weft::http::detail
