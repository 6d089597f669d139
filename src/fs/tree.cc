// tree.cc: files and directories by path: weft/fs.h.
#include <algorithm>
#include <array>
#include <cerrno>

#include <weft/blocking.h>
#include <weft/fs.h>

#include "fs/info.h"
#include "fs/report.h"
#include "os/fd_calls.h"
#include "os/file_calls.h"
#include "sched/simulated_files.h"

namespace weft::fs {

namespace {

namespace os = weft::detail::os;
using detail::info_of;
using detail::set_result;
using detail::throw_if;
using weft::detail::simulated_files;

constexpr std::size_t first_piece = 4096;                    // if a file does not report its size, as in /proc
constexpr std::size_t largest_guess = std::size_t{1} << 30;  // whatever size it reports

// Calls f, or, in a simulation, its counterpart. The system would read the path only up to a zero
// byte.
template <typename F, typename Simulated>
int call(const std::string& path, std::error_code& ec, F f, Simulated simulated) {
    int result = -EINVAL;
    if (path.find('\0') == std::string::npos) {
        simulated_files* files = weft::detail::simulated_files_at(path);
        result = files != nullptr ? simulated(*files) : blocking([&] { return f(path.c_str()); });
    }
    set_result(ec, result);
    return result;
}

file_info status(const std::string& path, bool follow, std::error_code& ec) {
    os::file_status s{};
    const int result = call(
        path, ec, [&](const char* p) { return os::file_status_at(p, follow, s); },
        [&](simulated_files& all) { return all.status_at(path.c_str(), s); });
    return result < 0 ? file_info{} : info_of(s);
}

std::string rest_of(file& f, std::error_code& ec) {
    const uint64_t said = f.size(ec);
    if (ec) return {};
    std::string text;
    std::size_t done = 0;
    // One byte more, so that the read that reaches the end sees it.
    std::size_t wanted = std::max<std::size_t>(first_piece, std::min<uint64_t>(said, largest_guess) + 1);
    do {
        text.resize(wanted);
        const std::size_t asked = wanted - done;
        const std::size_t got = f.read(mutable_buffer(text.data() + done, asked), ec);
        done += got;
        if (ec || got < asked) break;
        wanted *= 2;
    } while (true);
    text.resize(done);
    return text;
}

}  // namespace

std::string read_file(const std::string& path, std::error_code& ec) {
    file f(path, {}, ec);
    return ec ? std::string() : rest_of(f, ec);
}

std::string read_file(const std::string& path) {
    file f(path);
    std::error_code ec;
    std::string text = rest_of(f, ec);
    throw_if(ec, "read_file", path);
    return text;
}

void write_file(const std::string& path, const_buffer content, std::error_code& ec) {
    file f(path, {.mode = access::write, .create = true, .truncate = true}, ec);
    if (!ec) f.write_all(content, ec);
}

void write_file(const std::string& path, const_buffer content) {
    file f(path, {.mode = access::write, .create = true, .truncate = true});
    f.write_all(content);
}

file_info stat(const std::string& path, std::error_code& ec) { return status(path, true, ec); }

file_info stat(const std::string& path) {
    std::error_code ec;
    const file_info info = stat(path, ec);
    throw_if(ec, "stat", path);
    return info;
}

file_info lstat(const std::string& path, std::error_code& ec) { return status(path, false, ec); }

file_info lstat(const std::string& path) {
    std::error_code ec;
    const file_info info = lstat(path, ec);
    throw_if(ec, "lstat", path);
    return info;
}

bool exists(const std::string& path, std::error_code& ec) {
    static_cast<void>(status(path, true, ec));
    if (ec == std::errc::no_such_file_or_directory || ec == std::errc::not_a_directory) {
        ec.clear();
        return false;
    }
    return !ec;
}

bool exists(const std::string& path) {
    std::error_code ec;
    const bool yes = exists(path, ec);
    throw_if(ec, "exists", path);
    return yes;
}

std::vector<directory_entry> read_directory(const std::string& path, std::error_code& ec) {
    std::vector<directory_entry> all;
    const auto add = [](void* into, const char* name, os::file_kind kind) {
        static_cast<std::vector<directory_entry>*>(into)->push_back({name, detail::type_of(kind)});
    };

    struct open_directory {
        int fd;

        ~open_directory() {
            if (fd >= 0) os::fd_close(fd);
        }
    };

    call(
        path, ec,
        [&](const char* p) {
            const open_directory d{os::file_open(p, {.read = true, .directory = true}, 0)};
            return d.fd < 0 ? d.fd : os::directory_read(d.fd, add, &all);
        },
        [&](simulated_files& files) { return files.list(path.c_str(), add, &all); });
    if (ec) all.clear();
    return all;
}

std::vector<directory_entry> read_directory(const std::string& path) {
    std::error_code ec;
    std::vector<directory_entry> all = read_directory(path, ec);
    throw_if(ec, "read_directory", path);
    return all;
}

void rename(const std::string& from, const std::string& to, std::error_code& ec) {
    if (to.find('\0') != std::string::npos) {
        set_result(ec, -EINVAL);
        return;
    }
    if ((weft::detail::simulated_files_at(from) == nullptr) != (weft::detail::simulated_files_at(to) == nullptr)) {
        set_result(ec, -EXDEV);
        return;
    }
    call(
        from, ec, [&](const char* p) { return os::path_rename(p, to.c_str()); },
        [&](simulated_files& all) { return all.rename(from.c_str(), to.c_str()); });
}

void rename(const std::string& from, const std::string& to) {
    std::error_code ec;
    rename(from, to, ec);
    throw_if(ec, ("rename to \"" + to + "\" from").c_str(), from);
}

void unlink(const std::string& path, std::error_code& ec) {
    call(
        path, ec, [](const char* p) { return os::path_unlink(p); },
        [&](simulated_files& all) { return all.unlink(path.c_str()); });
}

void unlink(const std::string& path) {
    std::error_code ec;
    unlink(path, ec);
    throw_if(ec, "unlink", path);
}

void mkdir(const std::string& path, uint32_t permissions, std::error_code& ec) {
    call(
        path, ec, [&](const char* p) { return os::path_make_directory(p, permissions); },
        [&](simulated_files& all) { return all.make_directory(path.c_str(), permissions); });
}

void mkdir(const std::string& path, uint32_t permissions) {
    std::error_code ec;
    mkdir(path, permissions, ec);
    throw_if(ec, "mkdir", path);
}

void rmdir(const std::string& path, std::error_code& ec) {
    call(
        path, ec, [](const char* p) { return os::path_remove_directory(p); },
        [&](simulated_files& all) { return all.remove_directory(path.c_str()); });
}

void rmdir(const std::string& path) {
    std::error_code ec;
    rmdir(path, ec);
    throw_if(ec, "rmdir", path);
}

}  // namespace weft::fs
