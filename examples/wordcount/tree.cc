#include "tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "word_table.h"

namespace wordcount {

namespace {

constexpr std::size_t least_block = 4096;  // some files, for example in /proc, are longer than they say

struct dir_closer {
    void operator()(DIR* dir) const noexcept { closedir(dir); }
};

using dir_handle = std::unique_ptr<DIR, dir_closer>;

// errno belongs to the OS thread, and a compiler may compute its address once per function. But
// visit() below may park, and resume on another OS thread. So errno is read only in functions that
// do not park and are not inlined.

// Opens a directory and stores its status in facts. Follows a symbolic link only for the root.
// Returns nullptr if it fails, with the reason in error.
[[gnu::noinline]] dir_handle open_directory(const std::string& path, bool is_root, struct stat& facts, int& error) {
    const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | (is_root ? 0 : O_NOFOLLOW));
    dir_handle dir(fd < 0 ? nullptr : fdopendir(fd));
    if (dir && fstat(fd, &facts) == 0) return dir;
    error = errno;
    if (!dir && fd >= 0) close(fd);
    return nullptr;
}

// Returns the next entry. Returns nullptr with error 0 at the end, or with the reason in error.
[[gnu::noinline]] const dirent* next_entry(DIR* dir, int& error) {
    errno = 0;  // NOLINT: how readdir tells an error from the end
    const dirent* const entry = readdir(dir);
    error = entry == nullptr ? errno : 0;
    return entry;
}

// Like stat(). Returns 0 or the error.
[[gnu::noinline]] int look_at(const std::string& path, struct stat& facts) {
    return stat(path.c_str(), &facts) == 0 ? 0 : errno;
}

// Returns the file type bits (S_IFMT) of an entry of readdir. Returns 0 and notes the reason if it
// has vanished or access is denied.
[[gnu::noinline]] mode_t type_of(const dirent& found, int directory_fd, const std::string& path, census& seen) {
    if (found.d_type != DT_UNKNOWN) return static_cast<mode_t>(DTTOIF(found.d_type));
    struct stat facts{};
    if (fstatat(directory_fd, found.d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0) return facts.st_mode & S_IFMT;
    seen.note_errno(errno, path);
    return 0;
}

[[gnu::noinline]] void note_link(int directory_fd, const char* name, const std::string& path, census& seen) {
    struct stat target{};
    const bool leads_nowhere = fstatat(directory_fd, name, &target, 0) != 0 && (errno == ENOENT || errno == ELOOP);
    seen.note(leads_nowhere ? skip::broken_link : skip::symbolic_link, path);
}

std::uint64_t nanoseconds(const timespec& t) noexcept {
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

// A walk in progress: the directories that remain to be read, most recently found first.
class walker {
public:
    walker(census& seen, const std::function<void(std::string)>& visit) : seen_(seen), visit_(visit) {}

    void run(const std::string& root) {
        struct stat facts{};
        if (const int error = look_at(root, facts)) return seen_.note_errno(error, root);
        if (!S_ISDIR(facts.st_mode)) {
            std::error_code ignored;
            const std::string target = std::filesystem::canonical(root, ignored).string();  // root may be a link
            return found(facts.st_mode & S_IFMT, target.empty() ? root : target);
        }
        root_device_ = facts.st_dev;
        pending_.push_back(root);
        for (bool is_root = true; !pending_.empty(); is_root = false) {
            const std::string path = std::move(pending_.back());
            pending_.pop_back();
            read_directory(path, is_root);
        }
    }

private:
    void read_directory(const std::string& path, bool is_root) {
        struct stat facts{};
        int error = 0;
        const dir_handle dir = open_directory(path, is_root, facts, error);
        if (!dir) return seen_.note_errno(error, path);
        const int fd = dirfd(dir.get());
        if (facts.st_dev != root_device_) return seen_.note(skip::other_file_system, path);

        ++seen_.directories;
        seen_.mark(path, 0, 0);
        const std::string prefix = path.back() == '/' ? path : path + '/';
        for (;;) {
            const dirent* const entry = next_entry(dir.get(), error);
            if (entry == nullptr) break;
            const std::string_view name = entry->d_name;
            if (name == "." || name == "..") continue;
            std::string child = prefix + entry->d_name;
            const mode_t type = type_of(*entry, fd, child, seen_);
            if (type == S_IFLNK) {
                note_link(fd, entry->d_name, child, seen_);
            } else if (type != 0) {
                found(type, std::move(child));
            }
        }
        if (error != 0) seen_.note_errno(error, path);
    }

    void found(mode_t type, std::string path) {
        switch (type) {
            case S_IFREG:
                return visit_(std::move(path));
            case S_IFDIR:
                return pending_.push_back(std::move(path));
            case S_IFIFO:
                return seen_.note(skip::fifo, path);
            case S_IFSOCK:
                return seen_.note(skip::socket, path);
            default:
                return seen_.note(skip::device, path);
        }
    }

    census& seen_;
    const std::function<void(std::string)>& visit_;
    dev_t root_device_ = 0;
    std::vector<std::string> pending_;
};

}  // namespace

const char* name_of(skip kind) noexcept {
    switch (kind) {
        case skip::symbolic_link:
            return "symbolic links, not followed";
        case skip::broken_link:
            return "broken symbolic links";
        case skip::permission_denied:
            return "permission denied";
        case skip::gone:
            return "removed during the run";
        case skip::fifo:
            return "named pipes";
        case skip::socket:
            return "sockets";
        case skip::device:
            return "devices";
        case skip::other_file_system:
            return "other file systems, not entered";
        case skip::name_too_long:
            return "path names too long";
        case skip::read_error:
            return "read errors";
    }
    return "?";
}

void census::note(skip kind, const std::string& path) {
    const auto i = static_cast<std::size_t>(kind);
    if (skipped[i]++ == 0) example[i] = path;
    mark(path, 0, i + 1);
}

void census::note_errno(int error, const std::string& path) {
    switch (error) {
        case EACCES:
        case EPERM:
            return note(skip::permission_denied, path);
        case ENOENT:
        case ENOTDIR:
            return note(skip::gone, path);
        case ELOOP:
            return note(skip::symbolic_link, path);  // it was not a link when it was found
        case ENAMETOOLONG:
            return note(skip::name_too_long, path);
        default:
            return note(skip::read_error, path);
    }
}

void census::add(const census& other) {
    files += other.files;
    directories += other.directories;
    for (std::size_t i = 0; i < skip_kinds; ++i) {
        if (skipped[i] == 0) example[i] = other.example[i];
        skipped[i] += other.skipped[i];
    }
    fingerprint += other.fingerprint;
}

void census::mark(std::string_view path, std::uint64_t size, std::uint64_t changed) noexcept {
    std::uint64_t h = hash_of(path);
    for (const std::uint64_t part : {size, changed}) h = (h ^ (h >> 29) ^ part) * 0xbf58476d1ce4e5b9U;
    fingerprint += h;  // a sum does not depend on the order
}

void walk(const std::string& root, census& seen, const std::function<void(std::string)>& visit) {
    walker(seen, visit).run(root);
}

[[gnu::noinline]] input_file::input_file(std::string path, census& seen) : path_(std::move(path)), seen_(seen) {
    // Non-blocking, because the file may have become a named pipe without a writer.
    fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd_ < 0) {
        seen_.note_errno(errno, path_);
        return;
    }
    struct stat facts{};
    if (fstat(fd_, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        close(std::exchange(fd_, -1));
        seen_.note(skip::gone, path_);
        return;
    }
    ++seen_.files;
    size_ = static_cast<std::uint64_t>(facts.st_size);
}

input_file::~input_file() {
    if (fd_ < 0) return;
    struct stat facts{};
#if defined(__APPLE__)
    const timespec& changed = facts.st_mtimespec;
#else
    const timespec& changed = facts.st_mtim;
#endif
    if (fstat(fd_, &facts) == 0) seen_.mark(path_, read_, nanoseconds(changed));
    close(fd_);
}

[[gnu::noinline]] std::size_t input_file::read(char* to, std::size_t room) {
    if (fd_ < 0) return 0;
    ssize_t got = 0;
    do {
        got = ::read(fd_, to, room);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        seen_.note_errno(errno, path_);
        return 0;
    }
    read_ += static_cast<std::uint64_t>(got);
    return static_cast<std::size_t>(got);
}

std::size_t input_file::block_size(std::size_t most) const noexcept {
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(size_ + 1, std::min(least_block, most), most));
}

}  // namespace wordcount
