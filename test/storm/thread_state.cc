#include "thread_state.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "support/resources.h"

namespace weft::test {

namespace {

thread_local int own_id = 0;

struct failing_call {
    void (*make)();
    int error;
};

constexpr failing_call calls[error_kinds] = {
    {[] { (void)::close(-1); }, EBADF},
    {[] { (void)::open("/this/does/not/exist", O_RDONLY); }, ENOENT},
    {[] { (void)::open("/proc", O_WRONLY); }, EISDIR},
    {[] { (void)::open("/proc/self/stat/x", O_RDONLY); }, ENOTDIR},
    {[] { (void)::lseek(STDERR_FILENO, 0, -1); }, EINVAL},
};

}  // namespace

int errno_of_failing_call(int kind) noexcept {
    calls[kind].make();
    const int seen = errno;
    asm volatile("" : : : "memory");  // a function with effects, so that two calls are never merged
    return seen;
}

int expected_errno(int kind) noexcept { return calls[kind].error; }

void set_errno(int value) noexcept {
    errno = value;
    asm volatile("" : : : "memory");
}

int remembered_thread_id() noexcept {
    if (own_id == 0) own_id = os_thread_id();
    const int id = own_id;
    asm volatile("" : : : "memory");
    return id;
}

}  // namespace weft::test
