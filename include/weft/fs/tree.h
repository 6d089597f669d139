// tree.h: whole trees of directories: making, removing, walking; and copying a file.
//
//     weft::fs::create_directories("out/2026/12");
//     for (const weft::fs::walk_entry& e : weft::fs::walk("src"))
//         if (e.type == weft::fs::file_type::regular) use(e.path);
//     weft::fs::copy_file("app.conf", "app.conf.old", {.overwrite = true});
//     weft::fs::remove_all("out");
//
// fs.h applies: the calls block only the calling green thread, and each has two forms. All work in
// a simulation.
//
// remove_all() and copy_file() are cancellation points between their steps. What is not yet removed
// stays then. An incomplete copy is removed, if the call has made the file.
//
// Threads: any thread; one at a time for each walk.
// See: docs/files.md#trees
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <weft/detail/require.h>
#include <weft/fs.h>

namespace weft::fs {

/// Makes the directory and those above it that are missing. Returns whether it has made path: false
/// if it is a directory already. std::errc::file_exists or not_a_directory if something else is
/// there.
bool create_directories(const std::string& path, uint32_t permissions = 0777);
bool create_directories(const std::string& path, uint32_t permissions, std::error_code& ec);

/// Removes a file of any kind, or a directory with all that is in it. Returns how many files and
/// directories it has removed; 0 if path does not exist, which is no error. Removes symbolic
/// links, and not what they lead to, even if another process replaces a directory by a link in
/// between (except on Windows). Stops at the first error. Needs one descriptor per level.
uint64_t remove_all(const std::string& path);
uint64_t remove_all(const std::string& path, std::error_code& ec);

struct copy_options {
    /// Replaces the content of an existing file. Otherwise it is std::errc::file_exists.
    bool overwrite = false;
};

/// Copies the content of a file, and its permissions if it makes the new one. Returns the number of
/// bytes. Where the system can, it copies by itself (copy_file_range), perhaps without moving data.
/// std::errc::is_a_directory for a directory, invalid_argument if both are the same file. Not
/// atomic: another process may see a part of it.
uint64_t copy_file(const std::string& from, const std::string& to, const copy_options& how = {});
uint64_t copy_file(const std::string& from, const std::string& to, const copy_options& how, std::error_code& ec);

struct walk_entry {
    std::string path;  ///< begins with the path that was given to walk()
    file_type type = file_type::unknown;
    std::size_t depth = 0;  ///< 0: directly in that directory
};

struct walk_options {
    std::size_t depth_max = (std::numeric_limits<std::size_t>::max)();  ///< entries below that are left out
};

/// A walk through a directory; see walk(). Movable.
class tree_walk {
public:
    using value_type = walk_entry;

    tree_walk(std::string path, const walk_options& how) : depth_max_(how.depth_max), enter_(std::move(path)) {}

    /// Returns the next entry; nullopt at the end. An error concerns one directory, and the next
    /// call continues behind it. A directory that has gone in the meantime is no error, except the
    /// first one.
    [[nodiscard]] std::optional<walk_entry> next();
    [[nodiscard]] std::optional<walk_entry> next(std::error_code& ec);

    /// Leaves out what is in the directory that next() has returned last.
    void skip() noexcept { enter_.reset(); }

    /// An input range of walk_entry. Errors are thrown.
    class iterator {
    public:
        using value_type = walk_entry;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;

        explicit iterator(tree_walk* of) : of_(of), entry_(of->next()) {}

        const walk_entry& operator*() const {
            return *entry_;  // NOLINT(bugprone-unchecked-optional-access): not the end
        }

        const walk_entry* operator->() const {
            return &*entry_;  // NOLINT(bugprone-unchecked-optional-access): as above
        }

        iterator& operator++() {
            entry_ = of_->next();
            return *this;
        }

        void operator++(int) { ++*this; }

        friend bool operator==(const iterator& it, std::default_sentinel_t /*end*/) { return !it.entry_.has_value(); }

    private:
        tree_walk* of_;
        std::optional<walk_entry> entry_;
    };

    [[nodiscard]] iterator begin() { return iterator(this); }

    [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

private:
    struct level {
        std::string path;
        std::vector<directory_entry> entries;
        std::size_t next = 0;
    };

    void enter(std::error_code& ec);

    std::size_t depth_max_;
    std::optional<std::string> enter_;  // the directory to read before the next entry
    std::string failed_;                // for error texts
    std::vector<level> levels_;
};

/// All entries of a directory and of those in it, as the caller asks for them: a directory before
/// its entries, otherwise in the order of the file system. Does not follow symbolic links. Reads a
/// directory when its first entry is asked for, so one that has been skipped is not read.
[[nodiscard]] inline tree_walk walk(std::string path, const walk_options& how = {}) { return {std::move(path), how}; }

}  // namespace weft::fs
