// temporary.h: files and directories that remove themselves.
//
//     weft::fs::temporary_directory work("build-");
//     weft::fs::write_file(work / "main.cc", source);
//
//     weft::fs::temporary_file upload;
//     upload.file().write_all(data);
//     upload.keep("uploads/1");          // renames it; it stays
//
// They are made in TMPDIR, or the system's directory for such files, unless the caller names
// another one. Names are random and new, and only the user of this process may access what is
// there. The destructor removes it and reports no errors; a process that is killed leaves it.
//
// Threads: any thread; one at a time for each object. In a simulation: on its disk, in /tmp.
// See: docs/files.md#trees
#pragma once

#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <weft/detail/require.h>
#include <weft/fs.h>

namespace weft::fs {

/// The directory for temporary files: TMPDIR (on Windows TEMP), or /tmp.
[[nodiscard]] std::string temporary_path();

class temporary_directory {
public:
    /// Makes a directory whose name begins with prefix, in the directory `in`; empty:
    /// temporary_path(). Throws std::system_error, std::bad_alloc.
    explicit temporary_directory(const std::string& prefix = "weft-", const std::string& in = {});
    temporary_directory(const std::string& prefix, const std::string& in, std::error_code& ec);

    temporary_directory(temporary_directory&& other) noexcept : path_(std::exchange(other.path_, {})) {}

    /// Removes what it had before.
    temporary_directory& operator=(temporary_directory&& other) noexcept;

    ~temporary_directory() { remove(); }

    /// Empty after keep(), and for an object that has been moved from.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    [[nodiscard]] std::string operator/(std::string_view name) const { return path_ + '/' + std::string(name); }

    /// Leaves it to the caller, and returns its path.
    std::string keep() noexcept { return std::exchange(path_, {}); }

private:
    void remove() noexcept;

    std::string path_;
};

class temporary_file {
public:
    /// Makes and opens a file for reading and writing, as temporary_directory's constructor.
    explicit temporary_file(const std::string& prefix = "weft-", const std::string& in = {});
    temporary_file(const std::string& prefix, const std::string& in, std::error_code& ec);

    temporary_file(temporary_file&& other) noexcept
        : file_(std::move(other.file_)), path_(std::exchange(other.path_, {})) {}

    /// Removes what it had before.
    temporary_file& operator=(temporary_file&& other) noexcept;

    ~temporary_file() { remove(); }

    [[nodiscard]] fs::file& file() noexcept { return file_; }

    /// Empty after keep(), and for an object that has been moved from.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// Leaves it to the caller, and returns its path. The file stays open.
    std::string keep() noexcept { return std::exchange(path_, {}); }

    /// Renames it, replacing a file of that name atomically, and keeps it. Both must be on the same
    /// file system, so make it `in` the directory that it will be in. On error it stays temporary.
    void keep(const std::string& as);
    void keep(const std::string& as, std::error_code& ec);

private:
    void remove() noexcept;

    fs::file file_;
    std::string path_;
};

}  // namespace weft::fs
