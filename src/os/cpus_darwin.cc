// cpus_darwin.cc: how many CPUs this process may keep busy: see os.h. The system has no affinity
// and no quota.
#include <unistd.h>

#include "os/os.h"

namespace weft::detail::os {

unsigned usable_cpus() noexcept {
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? static_cast<unsigned>(online) : 1;
}

}  // namespace weft::detail::os
