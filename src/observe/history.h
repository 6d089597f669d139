// history.h: what each green thread of a recording did, as intervals: for summaries and paths.
//
// A running G that moves to another P, or loses its P, has one interval for each. So has a G that
// gets other labels.
//
// Threads: the one that makes it; afterwards immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "observe/recorded.h"
#include "observe/timeline.h"

namespace weft::observe::detail {

inline constexpr std::size_t no_g = static_cast<std::size_t>(-1);

struct interval {
    int64_t from_ns;
    int64_t to_ns;
    life what;
    uint8_t reason = 0;        // waiting: a wait_reason
    bool is_open = false;      // it went on when the recording ended
    uint32_t p = no_p;         // running
    uint32_t labels = 0;       // an index of recorded::texts
    uint32_t stack = 0;        // waiting: where; as labels; 0: unknown
    std::size_t waker = no_g;  // waiting, runnable: an index of history::gs; no_g: a timer, the poller, a plain thread

    [[nodiscard]] int64_t ns() const noexcept { return to_ns - from_ns; }
};

struct g_history {
    uint64_t id = 0;
    uint64_t site = 0;
    std::string title;                // "G 42 name"
    bool has_started = false;         // within the recording
    bool has_ended = false;           // within the recording
    std::vector<interval> intervals;  // in order; they do not overlap
};

struct region_history {
    std::size_t g;  // an index of history::gs
    const char* name;
    int64_t from_ns;
    int64_t to_ns;
    bool is_open = false;  // it went on when the recording ended
};

// A G on a P.
struct run_on_p {
    int64_t from_ns;
    int64_t to_ns;
    std::size_t g;  // an index of history::gs
};

struct history {
    std::vector<g_history> gs;  // in the order of their first events
    std::vector<region_history> regions;
    std::unordered_map<uint32_t, std::vector<run_on_p>> ps;  // by index of the P; in order
    std::map<uint32_t, double> cpu_delays_ns;                // of threads that waited for a CPU, by index of the M
};

// The recording outlives the history.
[[nodiscard]] history history_of(const recorded& r);

// Texts for people: "12.3 ms"; and " 12.3 ms" with the last digit in the given column.
[[nodiscard]] std::string duration_text(double ns);
[[nodiscard]] std::string duration_text(int64_t ns);
[[nodiscard]] std::string padded(const std::string& text, std::size_t width);

// The same text, with control characters as "\n" and "\x1b".
[[nodiscard]] std::string printable(std::string_view text);

// "G 42 name (file.cc:12)".
[[nodiscard]] std::string title_and_place(const recorded& r, const g_history& g);

// "waits: mutex lock".
[[nodiscard]] std::string text_of(const interval& i);

}  // namespace weft::observe::detail
