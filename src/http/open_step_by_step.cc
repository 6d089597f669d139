// open_step_by_step.cc: the way without openat2. See beneath.h.
//
// Each folder is opened from the one before it, without following links. A link is read, and its
// text takes the place of its name in the path. All folders on the way stay open, so ".." goes back
// to the folder from which the walk came, even if folders are moved meanwhile, and cannot leave the
// first one.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <vector>

#include "http/beneath.h"

namespace weft::http::detail {

namespace {

// As Linux.
constexpr int links_max = 40;
constexpr std::size_t path_max = 4096;

// To go through a folder needs the permission to search it, not to read it.
#if defined(O_PATH)
constexpr int for_folders = O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
#else
constexpr int for_folders = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
#endif
constexpr int for_files = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW;

class open_folders {
public:
    explicit open_folders(int root) noexcept : root_(root) {}

    open_folders(const open_folders&) = delete;
    open_folders& operator=(const open_folders&) = delete;

    ~open_folders() {
        for (const int fd : below_) ::close(fd);
    }

    [[nodiscard]] int last() const noexcept { return below_.empty() ? root_ : below_.back(); }

    void enter(int fd) {
        try {
            below_.push_back(fd);
        } catch (...) {
            ::close(fd);
            throw;
        }
    }

    // False: this would leave the first folder.
    [[nodiscard]] bool leave() noexcept {
        if (below_.empty()) return false;
        ::close(below_.back());
        below_.pop_back();
        return true;
    }

private:
    int root_;
    std::vector<int> below_;
};

// Returns 0 or errno's value.
int refuses_search(int folder) noexcept {
    const int fd = ::openat(folder, ".", for_folders);
    if (fd < 0) return errno;
    ::close(fd);
    return 0;
}

// What a symbolic link says; nullopt if name is something else.
std::optional<std::string> link_at(int folder, const std::string& name) {
    std::array<char, path_max> text;
    const ssize_t n = ::readlinkat(folder, name.c_str(), text.data(), text.size());
    if (n <= 0 || static_cast<std::size_t>(n) == text.size()) return std::nullopt;
    return std::string(text.data(), static_cast<std::size_t>(n));
}

// Removes the first name from path, and slashes before it. Empty: path has no name.
std::string take_name(std::string& path) {
    const std::size_t begin = path.find_first_not_of('/');
    if (begin == std::string::npos) return {};
    const std::size_t end = std::min(path.find('/', begin), path.size());
    std::string name = path.substr(begin, end - begin);
    path.erase(0, end);
    return name;
}

}  // namespace

int open_step_by_step(int folder, std::string path, bool follows_links) {
    if (path.size() >= path_max) return -ENAMETOOLONG;
    open_folders folders(folder);
    for (int links = 0;;) {
        const std::string name = take_name(path);
        if (name.empty()) {
            const int fd = ::openat(folders.last(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            return fd < 0 ? -errno : fd;
        }
        if (name == "." || name == "..") {
            if (const int error = refuses_search(folders.last())) return -error;
            if (name == ".." && !folders.leave()) return -EXDEV;
            continue;
        }
        const bool is_last = path.empty();
        const int fd = ::openat(folders.last(), name.c_str(), is_last ? for_files : for_folders);
        if (fd >= 0 && is_last) return fd;
        if (fd >= 0) {
            folders.enter(fd);
            continue;
        }
        const int error = errno;
        if (error == ENOENT) return -error;
        const std::optional<std::string> link =
            link_at(folders.last(), name);  // systems differ in the error for a link
        if (!link) return -error;
        if (!follows_links || ++links > links_max) return -ELOOP;
        if (link->starts_with('/')) return -EXDEV;
        path.insert(0, *link);
    }
}

}  // namespace weft::http::detail
