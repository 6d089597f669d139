// fs.h: files and directories, read and written as if the calls blocked; they block only the green thread that makes them.
//
//     weft::fs::file log("app.log", {.mode = weft::fs::access::write, .create = true, .append = true});
//     log.write_all("started\n");
//     std::string text = weft::fs::read_file("app.conf");
//
// What is in the page cache is read at once. Where a disk is needed, others have the processor meanwhile: the system is asked to read by
// itself and to say when it is done (io_uring, where there is one), or else the call is made on an OS thread whose processor is given away, as
// by weft::blocking. A plain thread just makes the call.
//
// What may never come is waited for in the poller: reads and writes of a FIFO, a terminal, a socket or another device that can be polled, and
// the opening of a FIFO to write. These are cancellation points: a deadline or a cancellation around the call ends the wait, and so does close().
// Writing to a FIFO or socket that nobody reads is the error std::errc::broken_pipe; SIGPIPE does not come.
//
// Calls on regular files and directories are not cancellation points. While the system may still write into a buffer, the buffer cannot be given
// back, so a call is waited for to its end, in a scope that is cancelled and after a deadline, too. A disk answers soon; a file on a server
// that is gone holds an OS thread until the system gives up.
//
// Each call has two forms: one throws std::system_error, whose text names the file; the other fills a std::error_code. ec is cleared by a
// call that succeeds. Other exceptions: std::bad_alloc, by both; weft::cancelled and weft::timed_out, by the first, as
// errc::cancelled and errc::timed_out by the second.
//
// See: docs/files.md
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
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

// How a file is opened. What contradicts itself is std::errc::invalid_argument.
struct open_options {
    access mode = access::read;
    bool create = false;     // makes it if there is none
    bool exclusive = false;  // with create: it is an error if there is one
    bool truncate = false;   // of what there is nothing is kept; with access::write or read_write
    bool append = false;     // each write goes to the end, wherever that is by then; with access::write or read_write
    bool data_sync = false;  // a write returns when it is on the disk (O_DSYNC)
    uint32_t permissions = 0666;  // of one that is made; the process's umask is taken off
};

enum class file_type : uint8_t { unknown, regular, directory, symlink, fifo, socket, character_device, block_device };

struct file_info {
    file_type type = file_type::unknown;
    uint32_t permissions = 0;  // the lower 12 bits of st_mode
    uint64_t size = 0;         // in bytes
    std::chrono::system_clock::time_point modified;
    uint64_t device = 0;  // with inode: which file it is
    uint64_t inode = 0;
    uint64_t links = 0;
    uint32_t user = 0;
    uint32_t group = 0;
};

enum class seek_from : uint8_t { begin, current, end };

// An open file. Movable. Calls may be made by several threads at a time, as far as POSIX goes: reads and writes at an offset do not touch each
// other; those at the file's own position move that, each by what it has read or written, in no order; read() and write_all() consist of
// several of those. Nothing is buffered here, nor locked. close() may be called at any time, too; moving, assigning and destroying are for one
// thread, while nobody else uses it.
//
// The descriptor is never inherited by programs that are executed (O_CLOEXEC).
class file {
public:
    // Closed.
    file() noexcept = default;

    // Opens path, whatever kind of file it is. A FIFO that is opened to write waits for a reader: it is asked for with pauses of 1 to 50 ms. One that
    // is opened to read does not wait; the first read waits for a writer.
    explicit file(const std::string& path, const open_options& how = {});
    file(const std::string& path, const open_options& how, std::error_code& ec);

    file(file&&) noexcept = default;
    file& operator=(file&&) noexcept = default;
    ~file() = default;

    // ---- At the file's own position, where the last such call has ended.

    // Reads at least a byte, and at most b.size(). Returns how many; 0: the end of the file, or b is empty.
    [[nodiscard]] std::size_t read_some(mutable_buffer b);
    [[nodiscard]] std::size_t read_some(mutable_buffer b, std::error_code& ec);

    // Fills b. Returns b.size(), or less at the end of the file. With an error: how many bytes had been read before.
    [[nodiscard]] std::size_t read(mutable_buffer b);
    [[nodiscard]] std::size_t read(mutable_buffer b, std::error_code& ec);

    // Writes at least a byte. Returns how many; 0: b is empty.
    [[nodiscard]] std::size_t write_some(const_buffer b);
    [[nodiscard]] std::size_t write_some(const_buffer b, std::error_code& ec);

    // Writes all of b. Returns b.size(); with an error, how many bytes had been written before.
    std::size_t write_all(const_buffer b);
    std::size_t write_all(const_buffer b, std::error_code& ec);

    // Moves the position. Returns where it is then, from the beginning.
    int64_t seek(int64_t offset, seek_from from = seek_from::begin);
    int64_t seek(int64_t offset, seek_from from, std::error_code& ec);

    // ---- At an offset from the beginning, in bytes, which leave the position alone.

    // As read().
    [[nodiscard]] std::size_t pread(mutable_buffer b, int64_t offset);
    [[nodiscard]] std::size_t pread(mutable_buffer b, int64_t offset, std::error_code& ec);

    // As write_all(). A file that was opened to append is appended to, all the same.
    std::size_t pwrite(const_buffer b, int64_t offset);
    std::size_t pwrite(const_buffer b, int64_t offset, std::error_code& ec);

    // As pread() and pwrite(), with several pieces of memory, one after the other.
    [[nodiscard]] std::size_t preadv(std::span<const mutable_buffer> into, int64_t offset);
    [[nodiscard]] std::size_t preadv(std::span<const mutable_buffer> into, int64_t offset, std::error_code& ec);
    std::size_t pwritev(std::span<const const_buffer> from, int64_t offset);
    std::size_t pwritev(std::span<const const_buffer> from, int64_t offset, std::error_code& ec);

    // ---- The file as a whole.

    // Returns when all that was written before is on the disk (fsync); sync_data: what is needed to read it again (fdatasync). An error is
    // told once: what had not been written by then may be lost.
    void sync();
    void sync(std::error_code& ec);
    void sync_data();
    void sync_data(std::error_code& ec);

    [[nodiscard]] file_info stat() const;
    [[nodiscard]] file_info stat(std::error_code& ec) const;
    [[nodiscard]] uint64_t size() const;
    [[nodiscard]] uint64_t size(std::error_code& ec) const;

    // Cuts it off, or fills it up with zeros, so that it has that many bytes.
    void truncate(uint64_t size);
    void truncate(uint64_t size, std::error_code& ec);

    // ---- The descriptor.

    // Calls from now on fail with weft::errc::closed, and so do those that wait in the poller; the file is closed when the last call that uses it has
    // returned. Any number of times. Reports no errors: to know that all is written, call sync() before.
    void close() noexcept { handle_.close(); }

    [[nodiscard]] bool is_open() const noexcept { return handle_.is_open(); }

    // Valid until close().
    [[nodiscard]] int native_handle() const noexcept { return handle_.fd(); }

    // Gives the descriptor, which stays open, to the caller; -1: there is none. A fatal error while somebody uses the file.
    [[nodiscard]] int release() { return handle_.detach(); }

    // Takes a descriptor over. name: for the texts of errors. Throws std::bad_alloc, and has closed it then. Whether it is non-blocking stays as
    // it is, because other programs may share the open file (a terminal), and they may change it. A call holds an OS thread until more comes
    // only where the system cannot read or write without waiting (a terminal that cannot be opened once more through /proc, the main side of a
    // pseudo-terminal in blocking mode, some devices, pipes before Linux 6.4), and another process takes what was there at the same moment.
    [[nodiscard]] static file adopt(int fd, std::string name);

    // The path it was opened with.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    weft::detail::fd_handle handle_;
    std::string path_;
    weft::detail::file_way way_{};  // how its calls are made: see src/fs/file_io.h
};

// ---- By path. What these do takes a look into directories, and is handed over like a call that needs a disk.

// The whole content. Throws std::bad_alloc, too, where it is larger than memory.
[[nodiscard]] std::string read_file(const std::string& path);
[[nodiscard]] std::string read_file(const std::string& path, std::error_code& ec);

// Makes the file, or replaces its content, which is gone before the new one is written: another process may see less of it. To
// be sure, write another file and rename() it.
void write_file(const std::string& path, const_buffer content);
void write_file(const std::string& path, const_buffer content, std::error_code& ec);

// Of what a symbolic link leads to; lstat: of the link.
[[nodiscard]] file_info stat(const std::string& path);
[[nodiscard]] file_info stat(const std::string& path, std::error_code& ec);
[[nodiscard]] file_info lstat(const std::string& path);
[[nodiscard]] file_info lstat(const std::string& path, std::error_code& ec);

// Whether there is something of that name. An error, such as a folder that may not be searched, is not "no".
[[nodiscard]] bool exists(const std::string& path);
[[nodiscard]] bool exists(const std::string& path, std::error_code& ec);

struct directory_entry {
    std::string name;                     // without the path
    file_type type = file_type::unknown;  // unknown where the file system does not tell at once: ask stat()
};

// All entries but "." and "..", in the order of the file system, which is none.
[[nodiscard]] std::vector<directory_entry> read_directory(const std::string& path);
[[nodiscard]] std::vector<directory_entry> read_directory(const std::string& path, std::error_code& ec);

// As the system calls of these names. rename replaces what is at to, at one moment.
void rename(const std::string& from, const std::string& to);
void rename(const std::string& from, const std::string& to, std::error_code& ec);
void unlink(const std::string& path);
void unlink(const std::string& path, std::error_code& ec);
void mkdir(const std::string& path, uint32_t permissions = 0777);
void mkdir(const std::string& path, uint32_t permissions, std::error_code& ec);
void rmdir(const std::string& path);
void rmdir(const std::string& path, std::error_code& ec);

}  // namespace weft::fs
