// cgroup.h: the CPU quota of this process's control group, v1 or v2.
//
// Threads: any thread.
#pragma once

namespace weft::detail::os {

// Returns the tightest quota from the cgroup that membership_file names up to mount, in CPUs; 0 if
// none is set or readable.
[[nodiscard]] double cgroup_cpu_quota(const char* membership_file, const char* mount) noexcept;

}  // namespace weft::detail::os
