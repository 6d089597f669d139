// lock.h: locks that processes take on a file.
//
//     weft::fs::file f("app.lock", {.mode = weft::fs::access::read_write, .create = true});
//     const weft::fs::file_lock only_one(f);                     // waits
//     weft::fs::file_lock l(f, weft::fs::lock_mode::shared, std::try_to_lock);
//
// A lock belongs to an open file (flock): it excludes other processes, and other file objects of
// this one that have opened the same file. It only excludes other locks, not reads and
// writes. It ends with the lock object, when the file is closed, and with the process, however that
// ends. One file has one lock: do not make two objects for it.
//
// The system cannot wait for such a lock without holding an OS thread. So the wait tries again,
// with pauses of 1 to 50 ms, and the waiters have no order. It is a cancellation point, and
// ends with weft::errc::closed when the file is closed.
//
// Errors: std::errc::not_supported on Windows and in a simulation. A file system may have no locks.
//
// Threads: one at a time for each object. The file must outlive it, and must not be moved.
// See: docs/files.md#locks
#pragma once

#include <mutex>
#include <system_error>
#include <utility>

#include <weft/detail/require.h>
#include <weft/fs.h>

namespace weft::fs {

enum class lock_mode : uint8_t {
    exclusive,  ///< no other lock at the same time
    shared,     ///< others that are shared, too
};

class file_lock {
public:
    /// No lock.
    file_lock() noexcept = default;

    /// Waits for the lock. Throws std::system_error, weft::cancelled, weft::timed_out.
    explicit file_lock(file& f, lock_mode how = lock_mode::exclusive);
    file_lock(file& f, lock_mode how, std::error_code& ec);

    /// Takes the lock if no other open file excludes it. Otherwise owns_lock() is false.
    file_lock(file& f, lock_mode how, std::try_to_lock_t try_only);
    file_lock(file& f, lock_mode how, std::try_to_lock_t try_only, std::error_code& ec);

    file_lock(file_lock&& other) noexcept : file_(std::exchange(other.file_, nullptr)) {}

    /// Gives up what it had before.
    file_lock& operator=(file_lock&& other) noexcept;

    ~file_lock() { unlock(); }

    /// Gives the lock up. Does nothing without one.
    void unlock() noexcept;

    [[nodiscard]] bool owns_lock() const noexcept { return file_ != nullptr; }

    explicit operator bool() const noexcept { return owns_lock(); }

private:
    [[nodiscard]] bool try_once(file& f, lock_mode how, std::error_code& ec);
    void wait(file& f, lock_mode how, std::error_code& ec);

    file* file_ = nullptr;
};

}  // namespace weft::fs
