// walk.cc: makes directories with those above, and walks through them: weft/fs/tree.h.
#include <system_error>

#include <weft/fs/tree.h>

#include "fs/report.h"

namespace weft::fs {

namespace {

// The directory above, or "" if the path names none.
std::string above(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return {};
    path.resize(slash == 0 ? 1 : slash);
    return path;
}

std::string below(const std::string& path, const std::string& name) {
    return path.ends_with('/') ? path + name : path + '/' + name;
}

}  // namespace

bool create_directories(const std::string& path, uint32_t permissions, std::error_code& ec) {
    mkdir(path, permissions, ec);
    if (ec == std::errc::no_such_file_or_directory) {
        const std::string parent = above(path);
        if (parent.empty() || parent == path) return false;
        create_directories(parent, permissions, ec);
        if (ec) return false;
        mkdir(path, permissions, ec);
    }
    if (!ec) return true;
    if (ec != std::errc::file_exists) return false;
    std::error_code unknown;
    if (stat(path, unknown).type == file_type::directory) ec.clear();
    return false;
}

bool create_directories(const std::string& path, uint32_t permissions) {
    std::error_code ec;
    const bool made = create_directories(path, permissions, ec);
    detail::throw_if(ec, "create_directories", path);
    return made;
}

// Reads the directory enter_, which is set.
void tree_walk::enter(std::error_code& ec) {
    std::string path = std::move(*enter_);  // NOLINT(bugprone-unchecked-optional-access): see above
    enter_.reset();
    std::vector<directory_entry> entries = read_directory(path, ec);
    if (ec == std::errc::no_such_file_or_directory && !levels_.empty()) ec.clear();
    if (ec) {
        failed_ = std::move(path);
        return;
    }
    levels_.push_back({std::move(path), std::move(entries)});
}

std::optional<walk_entry> tree_walk::next(std::error_code& ec) {
    ec.clear();
    if (enter_.has_value()) {
        enter(ec);
        if (ec) return std::nullopt;
    }
    while (!levels_.empty()) {
        level& innermost = levels_.back();
        if (innermost.next == innermost.entries.size()) {
            levels_.pop_back();
            continue;
        }
        const directory_entry& entry = innermost.entries[innermost.next];
        walk_entry found{below(innermost.path, entry.name), entry.type, levels_.size() - 1};
        ++innermost.next;
        if (found.type == file_type::unknown) {
            std::error_code gone;
            found.type = lstat(found.path, gone).type;
            if (gone == std::errc::no_such_file_or_directory) continue;
        }
        if (found.type == file_type::directory && found.depth < depth_max_) enter_ = found.path;
        return found;
    }
    return std::nullopt;
}

std::optional<walk_entry> tree_walk::next() {
    std::error_code ec;
    std::optional<walk_entry> entry = next(ec);
    detail::throw_if(ec, "walk through", failed_);
    return entry;
}

}  // namespace weft::fs
