// thread_state.h: what belongs to the OS thread one happens to run on, read so that nobody remembers it for us.
//
// A compiler may compute the address of errno, or of any thread-local variable, once per function and use it again after a
// call. A green thread that changed its OS thread in that call would then read the variable of the thread it left. Every
// function here is opaque: the address is computed anew, on the thread of the moment.
#pragma once

#include "support/build.h"

namespace weft::test {

// Makes a system call that fails in a way of its own for each kind (there are error_kinds of them) and returns what errno
// was right afterwards, with errno read inside the function.
inline constexpr int error_kinds = 5;
[[nodiscard]] WEFT_TEST_OPAQUE int errno_of_failing_call(int kind) noexcept;

// What errno has to be then.
[[nodiscard]] int expected_errno(int kind) noexcept;

// Sets errno.
WEFT_TEST_OPAQUE void set_errno(int value) noexcept;

// The id of the OS thread as a thread-local variable has it that was set when the thread first came by.
[[nodiscard]] WEFT_TEST_OPAQUE int remembered_thread_id() noexcept;

}  // namespace weft::test
