// debug_options.h: what RUN_DEBUG asks for: a list of words with commas between them, some with =value.
//
//     random          order nobody may rely on is drawn by lot, from a seed that is printed
//     random=SEED     the same, from that seed: the same draws again
//     retake=0        no P is taken away from an M that blocks or computes: see docs/retake.md
//     retake=always   Ps are taken away as often as can be, whether anybody waits or not: a storm for tests
//     placement=0     no thread is moved to another CPU: see docs/retake.md
//     stack_use       how deep each green thread has used its stack is measured exactly, see docs/stacks.md
//     schedtrace=MS   a line on what Ps, Ms and queues look like, every MS milliseconds: see docs/debugging.md
//     scheddetail=1   with it: a line for each P, M and G
//     dumpsignal=NAME that signal writes a dump of all Gs to stderr: QUIT, USR1, …, or a number
//     watchdog=MS     says which G has run for longer than that, or has waited for a P
//     deadlock=0      a program all of whose Gs wait for ever is left alone; =strict: see docs/deadlocks.md
//     lockowners=1    mutexes know who holds them, for reports
//
// What is not known, or has a value that makes no sense, gets one line on stderr, and is ignored.
//
// Who: whoever makes a runtime.
// See: docs/environment.md
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

// Those of the environment. Says which seed is used.
[[nodiscard]] debug_options read_debug_options() noexcept;

}  // namespace weft::detail
