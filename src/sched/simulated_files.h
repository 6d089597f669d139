// simulated_files.h: files that a simulation provides instead of the system.
//
// In a simulation, weft::fs works on a disk in memory. Its open files are numbers in the range of
// the simulation's descriptors, so file, fd_handle and poll_desc work unchanged. The calls of
// os/file_calls.h come here instead.
//
// Rejected: A directory of the system for each schedule. A crash could not lose what was not
//           synced, and its times and errors would be the system's.
//
// Threads: the simulation's M; closing: any.
// See:     docs/sim.md#files, src/sim/simulated_disks.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "os/file_calls.h"
#include "sched/simulated_fds.h"

namespace weft::detail {

// In place of an error: the host of the caller has crashed. No system has an error of that number;
// ECANCELED may come from a file system.
inline constexpr int host_crashed = 1 << 20;

// Parameters and results are those in os/file_calls.h, but the calls may park the caller. They may
// also return -host_crashed.
class simulated_files {
public:
    simulated_files() = default;
    virtual ~simulated_files() = default;
    simulated_files(const simulated_files&) = delete;
    simulated_files& operator=(const simulated_files&) = delete;

    [[nodiscard]] virtual int open(const char* path, const os::open_flags& how, uint32_t permissions) = 0;
    [[nodiscard]] virtual int64_t read(int fd, const iovec* into, std::size_t count, int64_t offset) = 0;
    [[nodiscard]] virtual int64_t write(int fd, const iovec* from, std::size_t count, int64_t offset) = 0;
    [[nodiscard]] virtual int64_t seek(int fd, int64_t offset, os::seek_from from) = 0;
    [[nodiscard]] virtual int sync(int fd, bool data_only) = 0;
    [[nodiscard]] virtual int truncate(int fd, int64_t size) = 0;
    [[nodiscard]] virtual int status_of(int fd, os::file_status& s) = 0;
    [[nodiscard]] virtual int status_at(const char* path, os::file_status& s) = 0;
    [[nodiscard]] virtual int list(const char* path,
                                   void (*each)(void* closure, const char* name, os::file_kind kind),
                                   void* closure) = 0;
    [[nodiscard]] virtual int rename(const char* from, const char* to) = 0;
    [[nodiscard]] virtual int unlink(const char* path) = 0;
    [[nodiscard]] virtual int make_directory(const char* path, uint32_t permissions) = 0;
    [[nodiscard]] virtual int remove_directory(const char* path) = 0;
    // Whether the path is the system's, because the test asked for it.
    [[nodiscard]] virtual bool is_real(std::string_view path) const = 0;
};

// Of the open file fd, which is_simulated_fd; nullptr: its simulation has ended.
[[nodiscard]] simulated_files* simulated_files_of(int fd) noexcept;

// For the caller's calls with that path; nullptr: they are the system's.
[[nodiscard]] simulated_files* simulated_files_at(std::string_view path);

}  // namespace weft::detail
