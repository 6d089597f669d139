// disk.h: the disks of a simulation: what they keep, and how they fail.
//
// In a simulation, weft::fs does not reach the system's files, except by use_real(). Each host has
// a disk in memory, with the directories "/" and "/tmp", which nothing slows and nothing breaks,
// until the test says otherwise:
//
//     weft::sim::disk d(server);
//     d.set({.latency = 1ms, .capacity = 1'000'000});
//     d.fail(weft::sim::file_call::sync, std::errc::io_error);
//     server.crash();  // what was not synced may be lost
//
// After host::restart() the disk has what it had made safe. What else survives is a choice of the
// schedule, so it is repeated with it, and shrunk.
//
// See: docs/sim.md#files
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

#include <weft/sim/network.h>

namespace weft::sim {

struct disk_options {
    /// Of each call that reads, writes, cuts or syncs a file, that renames or removes, or that
    /// makes a directory. An open takes none, also if it creates a file.
    std::chrono::nanoseconds latency{0};
    /// At most so much is added.
    std::chrono::nanoseconds jitter{0};
    /// In bytes, of the contents of all files; a removed one counts while it is open. More is
    /// std::errc::no_space_on_device. 0: no limit.
    uint64_t capacity = 0;
    /// Whether no write finds space, whatever the capacity.
    bool is_full = false;
    /// What the disk writes as a whole, in bytes: a crash cuts a write between two of these.
    std::size_t sector = 512;
    /// Whether one write, of two bytes or more, may write only a part, as POSIX permits.
    bool splits = true;
    /// Whether a sync succeeds without making anything safe.
    bool sync_lies = false;
};

/// A call on files that can be made to fail.
enum class file_call : uint8_t { open, read, write, sync, truncate, list, rename, unlink, make_directory };

/// The disk of a host: a value that refers to it. All functions: green threads of a simulation;
/// fatal elsewhere.
class disk {
public:
    explicit disk(const host& of);

    /// Sets the options for all that is done from now on. Throws std::invalid_argument for negative
    /// times, and for a sector of 0.
    void set(const disk_options& how) const;
    [[nodiscard]] disk_options options() const;

    /// Makes calls of that kind on the host fail with the error. Only calls count that would
    /// succeed; all rules count such a call, also if another one makes it fail. A failed write
    /// writes nothing, and a failed sync makes nothing safe.
    void fail(file_call what, std::errc error, const call_failures& which = {}) const;

    /// Lets the system do what the host's programs do in that directory, and below. Absolute paths
    /// only; throws std::invalid_argument for another one. The next schedule begins without it, but
    /// with what programs have changed in the directory.
    void use_real(std::string_view directory) const;

    /// In bytes, of the contents of all files.
    [[nodiscard]] uint64_t used() const;

private:
    unsigned number_;
};

/// How the clock on the wall of a host differs from the simulation's. It is what system_clock, time
/// and CLOCK_REALTIME show there. Durations, deadlines and steady_clock are not affected. drift: by
/// how much it is too fast, from now on; 0.001 is 1 ms in a second. Throws std::invalid_argument
/// for a drift of -1 or less.
void set_wall_clock(const host& of, std::chrono::nanoseconds offset, double drift = 0);

}  // namespace weft::sim
