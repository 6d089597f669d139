// debug_options.h: what RUN_DEBUG asks for: a list of words with commas between them, some with =value.
//
//     random          order nobody may rely on is drawn by lot, from a seed that is printed
//     random=SEED     the same, from that seed: the same draws again
//     retake=0        no P is taken away from an M that blocks or computes: see docs/retake.md
//     stack_use       how deep each green thread has used its stack is measured exactly, see docs/stacks.md
//
// What is not known, or has a value that makes no sense, gets one line on stderr, and is ignored.
//
// Who: whoever makes a runtime.
// See: docs/environment.md
#pragma once

#include <cstdint>
#include <optional>

namespace weft::detail {

struct debug_options {
    std::optional<uint64_t> random_seed;
    bool retake = true;
    bool stack_use = false;
};

// text: the variable's value, or nullptr.
[[nodiscard]] debug_options parse_debug_options(const char* text) noexcept;

// Those of the environment. Says which seed is used.
[[nodiscard]] debug_options read_debug_options() noexcept;

}  // namespace weft::detail
