// errno_calls.h: calls that fail, each with another value of errno.
#pragma once

#include "thread_state.h"

namespace weft::test {

struct errno_call {
    void (*make)();
    int error;
};

extern const errno_call errno_calls[error_kinds];

}  // namespace weft::test
