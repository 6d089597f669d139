// fs.h: files and directories. Calls block only the calling green thread.
//
//     weft::fs::file log("app.log", {.mode = weft::fs::access::write, .create = true, .append = true});
//     log.write_all("started\n");
//     std::string text = weft::fs::read_file("app.conf");
//
// Data in the page cache is read at once. If a disk is needed, other Gs run during the wait: the
// system reads asynchronously (io_uring, where available), or the call is made on an OS thread that
// hands off its P, as with weft::blocking. A plain thread simply makes the call.
//
// Operations that may never complete wait in the poller: reads and writes of a FIFO, a terminal, a
// socket or another pollable device, and opening a FIFO for writing. These are cancellation points:
// an enclosing deadline or cancellation ends them, and so does close(). Writing to a FIFO or socket
// without a reader is the error std::errc::broken_pipe; SIGPIPE is not raised.
//
// Calls on regular files and directories are not cancellation points. The system may still write
// into the buffer, so such a call is always waited for, even when cancelled or after a deadline. A
// disk answers soon; a file on an unreachable server holds an OS thread until the system gives up.
//
// Each call has two forms. One throws std::system_error, whose text names the file; the other fills
// a std::error_code, which success clears. Both throw std::bad_alloc. The first throws
// weft::cancelled and weft::timed_out, the second reports errc::cancelled and errc::timed_out.
//
// See: docs/files.md
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <weft/detail/fd_handle.h>
#include <weft/detail/require.h>
#include <weft/net/buffer.h>

namespace weft::detail {
enum class file_way : uint8_t;
}

namespace weft::fs {

using net::const_buffer;
using net::mutable_buffer;

enum class access : uint8_t { read, write, read_write };

/// How to open a file. Contradictory options are std::errc::invalid_argument.
struct open_options {
    access mode = access::read;
    bool create = false;          ///< Makes a missing file.
    bool exclusive = false;       ///< With create: an existing file is an error.
    bool truncate = false;        ///< Discards existing content; with access::write or read_write.
    bool append = false;          ///< Each write goes to the current end; with access::write or read_write.
    bool data_sync = false;       ///< A write returns when it is on the disk (O_DSYNC).
    uint32_t permissions = 0666;  ///< Of a new file; reduced by the process's umask.
};

enum class file_type : uint8_t { unknown, regular, directory, symlink, fifo, socket, character_device, block_device };

struct file_info {
    file_type type = file_type::unknown;
    uint32_t permissions = 0;  ///< the lower 12 bits of st_mode
    uint64_t size = 0;         ///< in bytes
    std::chrono::system_clock::time_point modified;
    uint64_t device = 0;  ///< with inode: identifies the file
    uint64_t inode = 0;
    uint64_t links = 0;
    uint32_t user = 0;
    uint32_t group = 0;
};

enum class seek_from : uint8_t { begin, current, end };

/// An open file. Movable. Several threads may use it at once, with POSIX semantics:
/// - Reads and writes at an offset are independent.
/// - Those at the file's own position advance it by what they have transferred, in no order; read()
///   and write_all() consist of several such calls.
/// - Nothing is buffered or locked here.
/// close() may be called at any time. Moving, assigning and destroying require that no other thread
/// uses the object.
///
/// Executed programs never inherit the descriptor (O_CLOEXEC).
class file {
public:
    /// Closed.
    file() noexcept = default;

    /// Opens path, a file of any kind. Opening a FIFO for writing waits for a reader, checking with
    /// pauses of 1 to 50 ms. Opening one for reading does not wait; the first read waits for a
    /// writer.
    explicit file(const std::string& path, const open_options& how = {});
    file(const std::string& path, const open_options& how, std::error_code& ec);

    file(file&&) noexcept = default;
    file& operator=(file&&) noexcept = default;
    ~file() = default;

    // ---- At the file's own position, where the last such call has ended.

    /// Reads at least one byte, at most b.size(). Returns the number of bytes; 0: the end of the
    /// file, or b is empty.
    [[nodiscard]] std::size_t read_some(mutable_buffer b);
    [[nodiscard]] std::size_t read_some(mutable_buffer b, std::error_code& ec);

    /// Fills b. Returns b.size(), or less at the end of the file. On error: the number of bytes
    /// read before it.
    [[nodiscard]] std::size_t read(mutable_buffer b);
    [[nodiscard]] std::size_t read(mutable_buffer b, std::error_code& ec);

    /// Writes at least one byte. Returns the number of bytes; 0: b is empty.
    [[nodiscard]] std::size_t write_some(const_buffer b);
    [[nodiscard]] std::size_t write_some(const_buffer b, std::error_code& ec);

    /// Writes all of b. Returns b.size(); on error, the number of bytes written before it.
    std::size_t write_all(const_buffer b);
    std::size_t write_all(const_buffer b, std::error_code& ec);

    /// Moves the position. Returns the new position, from the beginning.
    int64_t seek(int64_t offset, seek_from from = seek_from::begin);
    int64_t seek(int64_t offset, seek_from from, std::error_code& ec);

    // ---- At an offset from the beginning, in bytes. These do not change the position.

    /// As read().
    [[nodiscard]] std::size_t pread(mutable_buffer b, int64_t offset);
    [[nodiscard]] std::size_t pread(mutable_buffer b, int64_t offset, std::error_code& ec);

    /// As write_all(). A file opened with append is still appended to.
    std::size_t pwrite(const_buffer b, int64_t offset);
    std::size_t pwrite(const_buffer b, int64_t offset, std::error_code& ec);

    /// As pread() and pwrite(), with several pieces of memory in sequence.
    [[nodiscard]] std::size_t preadv(std::span<const mutable_buffer> into, int64_t offset);
    [[nodiscard]] std::size_t preadv(std::span<const mutable_buffer> into, int64_t offset, std::error_code& ec);
    std::size_t pwritev(std::span<const const_buffer> from, int64_t offset);
    std::size_t pwritev(std::span<const const_buffer> from, int64_t offset, std::error_code& ec);

    // ---- The file as a whole.

    /// Returns when all earlier writes are on the disk (fsync); sync_data: what is needed to read
    /// them back (fdatasync). An error is reported once; data not written by then may be lost.
    void sync();
    void sync(std::error_code& ec);
    void sync_data();
    void sync_data(std::error_code& ec);

    [[nodiscard]] file_info stat() const;
    [[nodiscard]] file_info stat(std::error_code& ec) const;
    [[nodiscard]] uint64_t size() const;
    [[nodiscard]] uint64_t size(std::error_code& ec) const;

    /// Cuts the file, or fills it with zeros, to that many bytes.
    void truncate(uint64_t size);
    void truncate(uint64_t size, std::error_code& ec);

    // ---- The descriptor.

    /// Makes later calls, and those that wait in the poller, fail with weft::errc::closed. The file
    /// is closed when the last call that uses it has returned. May be repeated. Reports no errors:
    /// to be sure that all is written, call sync() before.
    void close() noexcept { handle_.close(); }

    [[nodiscard]] bool is_open() const noexcept { return handle_.is_open(); }

    /// Valid until close().
    [[nodiscard]] int native_handle() const noexcept { return handle_.fd(); }

    /// Transfers the descriptor, which stays open, to the caller; -1 without one. Fatal while a
    /// thread uses the file.
    [[nodiscard]] int release() { return handle_.detach(); }

    /// Takes ownership of a descriptor. name: for error texts. Throws std::bad_alloc; the
    /// descriptor is then closed. Its blocking mode stays: other programs may share the open file
    /// (a terminal), and change it. A call holds an OS thread until more data comes only if both
    /// apply:
    /// - The system cannot read or write without waiting: a terminal that cannot be reopened
    ///   through /proc, the main side of a pseudo-terminal in blocking mode, some devices, pipes
    ///   before Linux 6.4.
    /// - Another process takes the data at that moment.
    [[nodiscard]] static file adopt(int fd, std::string name);

    /// The path it was opened with.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    friend class file_lock;

    weft::detail::fd_handle handle_;
    std::string path_;
    weft::detail::file_way way_{};  // how its calls are made: see src/fs/file_io.h
};

// ---- By path. These look into directories, and hand off the P like a call that needs a disk.

/// The whole content. Also throws std::bad_alloc if it is larger than memory.
[[nodiscard]] std::string read_file(const std::string& path);
[[nodiscard]] std::string read_file(const std::string& path, std::error_code& ec);

/// Makes the file or replaces its content. The old content is gone before the new one is complete,
/// so another process may see part of it. To avoid that, write another file and rename() it.
void write_file(const std::string& path, const_buffer content);
void write_file(const std::string& path, const_buffer content, std::error_code& ec);

/// Follows symbolic links; lstat describes the link itself.
[[nodiscard]] file_info stat(const std::string& path);
[[nodiscard]] file_info stat(const std::string& path, std::error_code& ec);
[[nodiscard]] file_info lstat(const std::string& path);
[[nodiscard]] file_info lstat(const std::string& path, std::error_code& ec);

/// Returns whether something of that name exists. An error, such as a directory without search
/// permission, is not "no".
[[nodiscard]] bool exists(const std::string& path);
[[nodiscard]] bool exists(const std::string& path, std::error_code& ec);

struct directory_entry {
    std::string name;                     ///< without the path
    file_type type = file_type::unknown;  ///< unknown if the file system does not tell: use stat()
};

/// All entries except "." and "..", in the unspecified order of the file system.
[[nodiscard]] std::vector<directory_entry> read_directory(const std::string& path);
[[nodiscard]] std::vector<directory_entry> read_directory(const std::string& path, std::error_code& ec);

/// As the system calls of these names. rename replaces the file at to atomically.
void rename(const std::string& from, const std::string& to);
void rename(const std::string& from, const std::string& to, std::error_code& ec);
void unlink(const std::string& path);
void unlink(const std::string& path, std::error_code& ec);
void mkdir(const std::string& path, uint32_t permissions = 0777);
void mkdir(const std::string& path, uint32_t permissions, std::error_code& ec);
void rmdir(const std::string& path);
void rmdir(const std::string& path, std::error_code& ec);

// ---- Links, modes and times. On Windows, and on the disk of a simulation, these are
// ---- std::errc::not_supported. Trees, copies, temporary files, locks: weft/fs/.

/// Makes a symbolic link at path. target is stored as it is, and need not exist.
void symlink(const std::string& target, const std::string& path);
void symlink(const std::string& target, const std::string& path, std::error_code& ec);

/// Makes another name for an existing file (a hard link), on the same file system.
void link(const std::string& existing, const std::string& path);
void link(const std::string& existing, const std::string& path, std::error_code& ec);

/// The target of a symbolic link, as it was given to symlink().
[[nodiscard]] std::string readlink(const std::string& path);
[[nodiscard]] std::string readlink(const std::string& path, std::error_code& ec);

/// Sets the permissions, 12 bits at most, without regard to the umask. Follows symbolic links.
void chmod(const std::string& path, uint32_t permissions);
void chmod(const std::string& path, uint32_t permissions, std::error_code& ec);

/// Which times set_times() sets; nullopt: as it is.
struct file_times {
    std::optional<std::chrono::system_clock::time_point> accessed = {};
    std::optional<std::chrono::system_clock::time_point> modified = {};
};

/// Follows symbolic links.
void set_times(const std::string& path, const file_times& times);
void set_times(const std::string& path, const file_times& times, std::error_code& ec);

}  // namespace weft::fs
