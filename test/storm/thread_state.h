// thread_state.h: state of the current OS thread, read so that the compiler cannot reuse an older
// address.
//
// A compiler may compute the address of errno, or of any thread-local variable, once in a function
// and use it again after a call. A green thread that changed its OS thread in that call would then
// read the variable of the thread it left. Every function here is opaque, so each call computes the
// address on the current thread.
#pragma once

#include "support/build.h"

namespace weft::test {

// Makes a system call that fails in a way specific to kind (there are error_kinds of them). Returns
// the value of errno after the call, read inside the function.
inline constexpr int error_kinds = 5;
[[nodiscard]] WEFT_TEST_OPAQUE int errno_of_failing_call(int kind) noexcept;

// The value that errno must have then.
[[nodiscard]] int expected_errno(int kind) noexcept;

// Sets errno.
WEFT_TEST_OPAQUE void set_errno(int value) noexcept;

// The id of the OS thread according to a thread-local variable, which is set on the first call on
// that thread.
[[nodiscard]] WEFT_TEST_OPAQUE int remembered_thread_id() noexcept;

}  // namespace weft::test
