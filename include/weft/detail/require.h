// require.h: what weft's C++ headers require of the compiler. Each includes this file first.
//
// A compiler continues after #error and adds pages of further errors. So each #error is followed by
// an include of a missing file, which every compiler treats as fatal.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "weft needs C++20: compile with -std=c++20 or later. The C interface, weft/run.h, needs C99 or C++11."
#include <weft/needs/std_cxx20.h>
#endif

// Exceptions carry cancellation, deadlines and channel_closed through the caller's frames, which
// could not be unwound otherwise.
#if !defined(__cpp_exceptions)
#error "weft needs C++ exceptions: compile without -fno-exceptions. The C interface, weft/run.h, works without them."
#include <weft/needs/exceptions.h>
#endif
