// cpus_windows.cc: how many CPUs this process may keep busy: see os.h. Those of its affinity mask,
// which covers one group of at most 64 processors.
#include <bit>

#include "os/os.h"
#include "os/windows_api.h"

namespace weft::detail::os {

unsigned usable_cpus() noexcept {
    DWORD_PTR of_process = 0;
    DWORD_PTR of_system = 0;
    if (GetProcessAffinityMask(GetCurrentProcess(), &of_process, &of_system) == 0 || of_process == 0) return 1;
    return static_cast<unsigned>(std::popcount(of_process));
}

}  // namespace weft::detail::os
