#include "thread_state.h"

#include <errno.h>

#include "errno_calls.h"
#include "support/resources.h"

namespace weft::test {

namespace {

thread_local int own_id = 0;

}  // namespace

int errno_of_failing_call(int kind) noexcept {
    errno_calls[kind].make();
    const int seen = errno;
    asm volatile("" : : : "memory");  // a function with effects, so that two calls are never merged
    return seen;
}

int expected_errno(int kind) noexcept { return errno_calls[kind].error; }

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
