// cpus_linux.cc: how many CPUs this process may keep busy.
//
// The affinity mask, limited by the tightest quota from our cgroup up to the root.
//
// See: docs/environment.md
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "os/cgroup.h"
#include "os/os.h"

namespace weft::detail::os {

namespace {

unsigned affinity_cpus() noexcept {
    // The kernel refuses a mask that is too small.
    for (int cpus = 1024; cpus <= 1 << 16; cpus *= 4) {
        cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(cpus));
        if (set == nullptr) break;
        const size_t size = CPU_ALLOC_SIZE(static_cast<size_t>(cpus));
        CPU_ZERO_S(size, set);
        const bool known = sched_getaffinity(0, size, set) == 0;
        const int count = known ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (known && count > 0) return static_cast<unsigned>(count);
    }
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? static_cast<unsigned>(online) : 1;
}

}  // namespace

unsigned usable_cpus() noexcept {
    const double quota = cgroup_cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    const unsigned cpus = affinity_cpus();
    if (!(quota > 0)) return cpus;
    return std::clamp(static_cast<unsigned>(std::ceil(quota)), 1U, cpus);
}

}  // namespace weft::detail::os
