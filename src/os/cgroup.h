// cgroup.h: the CPU quota of this process's control group.
//
// Understands cgroup v2 (cpu.max) and v1 (cpu.cfs_quota_us). The roots are parameters so that a test can point them at a made-up tree.
//
// Who: any thread.
#pragma once

namespace weft::detail::os {

// The tightest quota from the cgroup named in membership_file up to mount, in CPUs; 0 if there is none or none can be read.
[[nodiscard]] double cgroup_cpu_quota(const char* membership_file, const char* mount) noexcept;

}  // namespace weft::detail::os
