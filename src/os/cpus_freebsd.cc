// cpus_freebsd.cc: how many CPUs this process may keep busy: see os.h. Jails have sets of CPUs,
// too.
#include <sched.h>
#include <unistd.h>

#include "os/os.h"

namespace weft::detail::os {

unsigned usable_cpus() noexcept {
    cpuset_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
        return static_cast<unsigned>(CPU_COUNT(&set));
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? static_cast<unsigned>(online) : 1;
}

}  // namespace weft::detail::os
