// program_sanitizer.h: whether the program is built with a sanitizer that this library is not built
// with.
//
// Such a program gets wrong reports, or crashes: the sanitizer is not told of switches
// (context/sanitizer.h). Without this check it would not know why.
//
// Threads: any thread.
// See:     docs/sanitizers.md
#pragma once

namespace weft::detail::os {

struct program_sanitizer {
    const char* name;  // nullptr: none
    const char* flag;  // -fsanitize=…, as WEFT_SANITIZE; nullptr: weft does not support it
};

// The first that is found.
[[nodiscard]] program_sanitizer find_program_sanitizer() noexcept;

}  // namespace weft::detail::os
