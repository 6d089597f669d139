// debug_options.h: the options in RUN_DEBUG: words separated by commas, some with =value.
//
// Unknown words and invalid values are reported on stderr, and ignored.
//
// Threads: the thread that makes a runtime.
// See:     docs/environment.md, which explains the words
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "os/fault_injection.h"

namespace weft::detail {

enum class deadlock_search : uint8_t { off, on, strict };

struct debug_options {
    std::optional<uint64_t> random_seed;
    bool retake = true;
    bool retake_always = false;
    bool placement = true;
    bool stack_use = false;
    bool trace_detail = false;
    bool lock_owners = false;
    bool symbols = true;
    bool all_frames = false;
    bool tsan_green_threads = false;
    bool check_sanitizer = true;
    deadlock_search deadlock = deadlock_search::on;
    int dump_signal = 0;       // 0: none
    uint32_t trace_ms = 0;     // 0: no trace
    uint32_t watchdog_ms = 0;  // 0: no watchdog
    std::array<os::failure_rule, os::failure_rules_most> failures{};
    std::size_t failure_count = 0;
};

// text may be nullptr.
[[nodiscard]] debug_options parse_debug_options(const char* text) noexcept;

// The options in the environment. Prints the seed in use. Calls that shall fail do from then on.
[[nodiscard]] debug_options read_debug_options() noexcept;

}  // namespace weft::detail
