// cgroup.h: the CPU quota of this process's control group.
//
// Supports cgroup v2 (cpu.max) and v1 (cpu.cfs_quota_us). The roots are parameters, so that a test
// can use a fake tree.
//
// Threads: any thread.
#pragma once

namespace weft::detail::os {

// The tightest quota from the cgroup named in membership_file up to mount, in CPUs; 0 if no quota
// is set or readable.
[[nodiscard]] double cgroup_cpu_quota(const char* membership_file, const char* mount) noexcept;

}  // namespace weft::detail::os
