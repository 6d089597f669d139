// links.cc: links, modes and times: weft/fs.h.
#include <cerrno>
#include <chrono>

#include <weft/blocking.h>
#include <weft/fs.h>

#include "fs/report.h"
#include "os/path_calls.h"
#include "sched/simulated_files.h"

namespace weft::fs {

namespace {

namespace os = weft::detail::os;
using detail::set_result;
using detail::throw_if;

constexpr std::size_t first_link_size = 256;
constexpr std::size_t most_link_size = std::size_t{1} << 20;

// Calls f, unless the path belongs to a simulation, whose disk has none of that. The system would
// read the path only up to a zero byte.
template <typename F>
int64_t call(const std::string& path, std::error_code& ec, F f) {
    int64_t result = -EINVAL;
    if (path.find('\0') == std::string::npos)
        result = weft::detail::simulated_files_at(path) != nullptr ? -ENOTSUP : blocking([&] { return int64_t{f()}; });
    set_result(ec, result);
    return result;
}

int64_t ns_of(const std::optional<std::chrono::system_clock::time_point>& t) noexcept {
    if (!t.has_value()) return os::keep_time;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(t->time_since_epoch()).count();
}

}  // namespace

void symlink(const std::string& target, const std::string& path, std::error_code& ec) {
    if (target.find('\0') != std::string::npos) {
        set_result(ec, -EINVAL);
        return;
    }
    call(path, ec, [&] { return os::path_symlink(target.c_str(), path.c_str()); });
}

void symlink(const std::string& target, const std::string& path) {
    std::error_code ec;
    symlink(target, path, ec);
    throw_if(ec, ("symlink to \"" + target + "\" at").c_str(), path);
}

void link(const std::string& existing, const std::string& path, std::error_code& ec) {
    if (existing.find('\0') != std::string::npos) {
        set_result(ec, -EINVAL);
        return;
    }
    call(path, ec, [&] { return os::path_link(existing.c_str(), path.c_str()); });
}

void link(const std::string& existing, const std::string& path) {
    std::error_code ec;
    link(existing, path, ec);
    throw_if(ec, ("link to \"" + existing + "\" at").c_str(), path);
}

std::string readlink(const std::string& path, std::error_code& ec) {
    std::string text;
    // The link may be replaced by a longer one at any time, so its status would not help.
    for (std::size_t size = first_link_size; size <= most_link_size; size *= 2) {
        text.resize(size);
        const int64_t length = call(path, ec, [&] { return os::path_read_link(path.c_str(), text.data(), size); });
        if (length < 0) return {};
        if (static_cast<std::size_t>(length) < size) {
            text.resize(static_cast<std::size_t>(length));
            return text;
        }
    }
    set_result(ec, -ENAMETOOLONG);
    return {};
}

std::string readlink(const std::string& path) {
    std::error_code ec;
    std::string target = readlink(path, ec);
    throw_if(ec, "readlink", path);
    return target;
}

void chmod(const std::string& path, uint32_t permissions, std::error_code& ec) {
    if ((permissions & ~07777U) != 0) {
        set_result(ec, -EINVAL);
        return;
    }
    call(path, ec, [&] { return os::path_change_mode(path.c_str(), permissions); });
}

void chmod(const std::string& path, uint32_t permissions) {
    std::error_code ec;
    chmod(path, permissions, ec);
    throw_if(ec, "chmod", path);
}

void set_times(const std::string& path, const file_times& times, std::error_code& ec) {
    call(path, ec, [&] { return os::path_set_times(path.c_str(), ns_of(times.accessed), ns_of(times.modified)); });
}

void set_times(const std::string& path, const file_times& times) {
    std::error_code ec;
    set_times(path, times, ec);
    throw_if(ec, "set_times", path);
}

}  // namespace weft::fs
