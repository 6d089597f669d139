// document_root.cc: see document_root.h.
#include "http/document_root.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <utility>

#include "http/beneath.h"

namespace weft::http::detail {

namespace {

std::error_code why_not_open(int error) {
    // EXDEV: the path would leave the folder. ELOOP: symbolic links in a circle, or one that is not
    // followed.
    if (error == EXDEV || error == ELOOP || error == ENOTDIR || error == ENAMETOOLONG || error == ENXIO) error = ENOENT;
    return {error, std::generic_category()};
}

// Differs between files. Changes with the file, as far as the file system's clock resolves the
// change.
std::string tag_of(const fs::file_info& info) {
    const auto changed = info.modified.time_since_epoch();
    std::array<char, 80> text{};
    const int size = std::snprintf(
        text.data(), text.size(), "\"%llx-%llx-%llx\"", static_cast<unsigned long long>(info.inode),
        static_cast<unsigned long long>(info.size),
        static_cast<unsigned long long>(std::chrono::duration_cast<std::chrono::nanoseconds>(changed).count()));
    return {text.data(), static_cast<std::size_t>(size)};
}

int opened_folder(const std::string& path) {
    const int fd = open_folder(path);
    if (fd < 0) throw std::system_error(-fd, std::generic_category(), "weft: cannot serve the files of " + path);
    return fd;
}

}  // namespace

opened_file describe(fs::file file, std::error_code& ec) {
    const fs::file_info info = file.stat(ec);
    if (!ec && info.type == fs::file_type::directory) {
        ec = std::make_error_code(std::errc::is_a_directory);
    } else if (!ec && info.type != fs::file_type::regular) {
        ec = std::make_error_code(std::errc::no_such_file_or_directory);
    }
    if (ec) return {};
    return {std::move(file), info.size, std::chrono::system_clock::to_time_t(info.modified), tag_of(info)};
}

document_root::document_root(const std::string& path, bool follows_links)
    : folder_(opened_folder(path)), follows_links_(follows_links) {}

document_root::~document_root() { ::close(folder_); }

opened_file document_root::open(const std::string& relative, std::error_code& ec) const {
    std::string name = relative;  // copied first: the copy may throw, and no descriptor is open yet
    const int fd = open_beneath(folder_, relative, follows_links_);
    ec = fd < 0 ? why_not_open(-fd) : std::error_code();
    if (ec) return {};
    return describe(fs::file::adopt(fd, std::move(name)), ec);
}

}  // namespace weft::http::detail
