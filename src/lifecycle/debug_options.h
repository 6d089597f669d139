// debug_options.h: the options in RUN_DEBUG: words separated by commas, some with =value.
//
//     random          unspecified order is random, from a seed that is printed
//     random=SEED     the same from that seed: repeats the draws
//     retake=0        no retakes: docs/retake.md
//     retake=always   as many retakes as possible, needed or not: a storm for tests
//     placement=0     moves no thread to another CPU: docs/retake.md
//     stack_use       measures stack use exactly: docs/stacks.md
//     schedtrace=MS   a line on Ps, Ms and queues every MS milliseconds: docs/debugging.md
//     scheddetail=1   with it: a line for each P, M and G
//     dumpsignal=NAME a signal that dumps all Gs to stderr: QUIT, USR1, …, or a number
//     watchdog=MS     reports a G that runs, or waits for a P, for longer
//     deadlock=0      ignores deadlocks of the whole program; =strict: docs/deadlocks.md
//     lockowners=1    mutexes know their holders, for reports
//
// Unknown words and invalid values are reported on stderr, and ignored.
//
// Threads: the thread that makes a runtime.
// See:     docs/environment.md
#pragma once

#include <cstdint>
#include <optional>

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
    deadlock_search deadlock = deadlock_search::on;
    int dump_signal = 0;       // 0: none
    uint32_t trace_ms = 0;     // 0: no trace
    uint32_t watchdog_ms = 0;  // 0: no watchdog
};

// text: the variable's value, or nullptr.
[[nodiscard]] debug_options parse_debug_options(const char* text) noexcept;

// The options in the environment. Prints the seed in use.
[[nodiscard]] debug_options read_debug_options() noexcept;

}  // namespace weft::detail
