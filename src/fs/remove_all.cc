// remove_all.cc: removes trees: weft/fs/tree.h.
//
// Another process, perhaps of another user, may replace a directory by a symbolic link at any time.
// A path would then lead out of the tree. So each directory is opened without following links, and
// its entries are removed relative to it.
//
// One blocking call reads a directory and removes all entries that are no directories. Where the
// system lacks such calls, and in a simulation, paths have to do.
#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include <weft/blocking.h>
#include <weft/fs/tree.h>

#include "fs/interruption.h"
#include "fs/report.h"
#include "os/fd_calls.h"
#include "os/file_calls.h"
#include "os/path_calls.h"
#include "sched/simulated_files.h"

namespace weft::fs {

namespace {

namespace os = weft::detail::os;
using detail::is_interrupted;
using detail::set_result;

class open_directory {
public:
    open_directory() = default;

    ~open_directory() {
        if (fd_ >= 0) os::fd_close(fd_);
    }

    open_directory(const open_directory&) = delete;
    open_directory& operator=(const open_directory&) = delete;

    void open(int at, const char* name) noexcept { fd_ = os::directory_open_at(at, name); }

    [[nodiscard]] int fd() const noexcept { return fd_; }

private:
    int fd_ = -ENOENT;  // or minus errno's value
};

bool is_gone(int result) noexcept { return result == -ENOENT; }

// Whether the entry may be a directory, so that unlink has refused it. Linux says EISDIR, POSIX
// EPERM.
bool may_be_directory(int result) noexcept { return result == -EISDIR || result == -EPERM; }

class removal {
public:
    // Removes a name in the directory `at`.
    void remove(int at, const std::string& name, std::error_code& ec) {
        const int result = blocking([&] { return os::entry_remove_at(at, name.c_str(), false); });
        if (may_be_directory(result)) {
            remove_directory(at, name, result, ec);
        } else if (is_gone(result)) {
            ec.clear();
        } else {
            set_result(ec, result);
            if (!ec) ++count_;
        }
    }

    [[nodiscard]] uint64_t count() const noexcept { return count_; }

private:
    // refusal: of an unlink, for something that is no directory.
    void remove_directory(int at, const std::string& name, int refusal, std::error_code& ec) {
        std::vector<std::string> directories;
        open_directory d;
        int result = blocking([&] {
            d.open(at, name.c_str());
            return d.fd() < 0 ? d.fd() : empty(d.fd(), directories);
        });
        if (result == -ENOTDIR || result == -ELOOP) result = refusal;
        if (is_gone(result)) result = 0;
        set_result(ec, result);
        for (const std::string& below : directories) {
            if (ec || is_interrupted(ec)) return;
            remove(d.fd(), below, ec);
        }
        if (ec) return;
        result = blocking([&] { return os::entry_remove_at(at, name.c_str(), true); });
        if (is_gone(result)) return;
        set_result(ec, result);
        if (!ec) ++count_;
    }

    // Removes the entries of a directory that are no directories; the others are added to the list.
    int empty(int fd, std::vector<std::string>& directories) {
        std::vector<std::string> names;
        const auto add = [](void* into, const char* name, os::file_kind) {
            static_cast<std::vector<std::string>*>(into)->emplace_back(name);
        };
        if (const int result = os::directory_read(fd, add, &names); result < 0) return result;
        for (std::string& name : names) {
            const int result = os::entry_remove_at(fd, name.c_str(), false);
            if (result == 0) {
                ++count_;
            } else if (may_be_directory(result)) {
                directories.push_back(std::move(name));
            } else if (!is_gone(result)) {
                return result;
            }
        }
        return 0;
    }

    uint64_t count_ = 0;
};

// For systems without calls relative to a directory, and for simulations.
void remove_by_path(const std::string& path, uint64_t& count, std::error_code& ec) {
    const file_info info = lstat(path, ec);
    if (ec) {
        if (ec == std::errc::no_such_file_or_directory) ec.clear();
        return;
    }
    if (info.type == file_type::directory) {
        for (const directory_entry& entry : read_directory(path, ec)) {
            if (is_interrupted(ec)) return;
            remove_by_path(path + '/' + entry.name, count, ec);
            if (ec) return;
        }
        if (!ec) rmdir(path, ec);
    } else {
        unlink(path, ec);
    }
    if (!ec) ++count;
}

}  // namespace

uint64_t remove_all(const std::string& path, std::error_code& ec) {
    if (path.find('\0') != std::string::npos) {
        set_result(ec, -EINVAL);
        return 0;
    }
    if (weft::detail::simulated_files_at(path) == nullptr) {
        removal all;
        all.remove(os::here, path, ec);
        if (ec != std::errc::not_supported) return all.count();
    }
    uint64_t count = 0;
    remove_by_path(path, count, ec);
    return count;
}

uint64_t remove_all(const std::string& path) {
    std::error_code ec;
    const uint64_t count = remove_all(path, ec);
    detail::throw_if(ec, "remove_all", path);
    return count;
}

}  // namespace weft::fs
