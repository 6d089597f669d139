// copy_memory_linux.cc: see cpu_sampling.h.
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "os/cpu_sampling.h"

namespace weft::detail::os {

bool copy_memory(void* to, const void* from, std::size_t size) noexcept {
    const iovec here{to, size};
    const iovec there{const_cast<void*>(from), size};  // NOLINT: it is only read
    const int kept_errno = errno;
    const long copied = syscall(SYS_process_vm_readv, getpid(), &here, 1UL, &there, 1UL, 0UL);
    errno = kept_errno;
    return copied == static_cast<long>(size);
}

}  // namespace weft::detail::os
