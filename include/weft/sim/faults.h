// faults.h: a plan of what goes wrong in a simulated network, and when.
//
//     run_faults({{10s, fault_kind::partition, "a", "b"}, {20s, fault_kind::heal}});
//     run_faults(random_faults({"a", "b", "c"}, {.span = 60s}), start_server);
//
// A plan is a value: written by hand, or drawn by the schedule, and printed by to_text().
//
// See: docs/sim.md#faults
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <weft/detail/source_location.h>
#include <weft/sim/network.h>

namespace weft::sim {

enum class fault_kind : uint8_t {
    partition,          ///< between host and other
    partition_one_way,  ///< from host to other
    heal,               ///< all partitions
    crash,              ///< of host
    restart,
    disk_full,         ///< of host: no write that needs space succeeds
    disk_room,         ///< the end of disk_full
    disk_sync_fails,   ///< the next sync on host is EIO, unless disk_sync_honest comes first
    disk_sync_lies,    ///< on host
    disk_sync_honest,  ///< the end of disk_sync_lies and disk_sync_fails
    clock_step,        ///< the wall clock of host differs by fault::by from now on
};

struct fault {
    std::chrono::nanoseconds at{0};  ///< from the start of the plan
    fault_kind what = fault_kind::heal;
    std::string host{};
    std::string other{};
    std::chrono::nanoseconds by{0};  ///< of clock_step
};

using fault_plan = std::vector<fault>;

struct random_fault_options {
    std::chrono::nanoseconds span = std::chrono::seconds(60);  ///< the last repair ends then
    unsigned most = 4;                                         ///< faults, without their repairs
    bool crashes = true;
    bool partitions = true;
    bool disks = false;   ///< full ones, and syncs that fail; none that lies
    bool clocks = false;  ///< steps of up to 10 s, which stay
};

/// A plan that the schedule chooses: up to `most` faults of these hosts, each with its repair, so
/// that everything but clocks works again when it is over. Shrinking leaves faults out. Throws
/// std::invalid_argument for fewer hosts than the faults need, or a span of less than 1 ms.
[[nodiscard]] fault_plan random_faults(const std::vector<std::string>& hosts, const random_fault_options& how = {});

/// Starts a green thread on "localhost" that does what the plan says. restarted is called after
/// each restart, with the host, to start its programs again. Throws std::invalid_argument, before
/// anything happens, for an unknown host. The hosts must have been added.
void run_faults(const fault_plan& plan,
                std::function<void(host)> restarted = {},
                source_location where = source_location::current());

/// A line for each fault.
[[nodiscard]] std::string to_text(const fault_plan& plan);

}  // namespace weft::sim
