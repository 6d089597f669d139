// timeline.h: the story that the events of a recording tell, one green thread at a time.
//
// Events are in the order of their times, but the clocks of two CPUs may differ: a G may seem to
// run some nanoseconds before it was made runnable on another CPU. And the first events of a G may
// be overwritten. So replay() keeps the state of each G, and
//
//   - takes a G that runs while it waits as made runnable at that moment; the `ready` that comes
//     within skew_ns after that is then the reason
//   - ignores a `ready` of a G that does not wait
//   - takes the state of a G before its first event from that event; it is then only assumed
//   - knows the P of each thread, so that a G that lost its P is not shown on it
//
// Threads: any, for one recording at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <weft/detail/source_location.h>

#include "observe/recorded.h"

namespace weft::observe::detail {

enum class life : uint8_t { unknown, runnable, running, waiting, in_call, ended };

inline constexpr int64_t skew_ns = 100'000;
inline constexpr uint32_t no_p = 0xffffffff;

// A green thread of the recording.
struct track {
    uint64_t id = 0;
    uint64_t site = 0;     // 0: unknown
    uint32_t name = 0;     // an index of recorded::texts
    uint32_t labels = 0;   // as name
    uint32_t regions = 0;  // that are open
    life now = life::unknown;
    bool is_assumed = false;  // now: it has no event for it, and since when is unknown
    uint8_t reason = 0;       // waiting: a wait_reason
    uint32_t p = no_p;        // running
    uint32_t thread = 0;
    int64_t since_ns = 0;
    uint64_t flow = 0;       // of the wake-up that made it runnable; 0: none
    uint32_t stack = 0;      // waiting: where; an index of recorded::texts; 0: unknown
    int64_t unwoken_ns = 0;  // when it ran although it seemed to wait; 0: it did not
};

// A change of one G's state. before has the old state, and since when.
struct change {
    int64_t ns;
    const track& before;
    life after;
    uint8_t reason = 0;
    uint32_t p = no_p;
    uint32_t thread = 0;
};

// A G or a thread ends the wait of another G.
struct wake_up {
    int64_t ns;
    const track* waker;  // nullptr: a timer, the poller or a plain thread
    uint32_t thread;
    int plain_tid;  // not 0: a plain thread
    const track& woken;
    uint64_t flow;
};

class teller {
public:
    virtual ~teller() = default;

    virtual void changes(const change& c) = 0;
    // A running G is on another P than before, or on none.
    virtual void moves(int64_t ns, const track& g, uint32_t from_p, uint32_t to_p) = 0;
    virtual void wakes(const wake_up& w) = 0;
    // g gets other labels than it has.
    virtual void relabels(int64_t ns, const track& g, uint32_t labels, uint32_t thread) = 0;
    virtual void begin_region(int64_t ns, const track& g, const char* name) = 0;
    virtual void end_region(int64_t ns, const track& g) = 0;
    virtual void counter(int64_t ns, uint32_t thread, const char* name, double value) = 0;
    virtual void log(int64_t ns, const track* g, uint32_t thread, const std::string& text) = 0;
    // Events of an M: p_taken, p_given, steal, poll, timers, sleep; and cpu_delay, with the
    // increase since its last one as argument.
    virtual void thread_event(const step& s) = 0;
};

// Calls `to` for everything in r, in the order of time.
void replay(const recorded& r, teller& to);

// The text of a site: "file.cc:12", without folders. Empty if unknown.
[[nodiscard]] std::string place_of(const recorded& r, uint64_t site);
[[nodiscard]] std::string place_of(const place& where);
[[nodiscard]] std::string place_of(const weft::source_location& where);

// "user=anna, request=17". Empty: none.
[[nodiscard]] std::string labels_text(const recorded& r, uint32_t labels);

// "load at cache.cc:12, called by serve at server.cc:40".
[[nodiscard]] std::string stack_in_one_line(const recorded& r, uint32_t stack);

// Calls f(key, value) for each label of a text.
template <typename F>
void for_each_label(std::string_view labels, F f) {
    while (!labels.empty()) {
        const std::string_view key = labels.substr(0, labels.find('\0'));
        labels.remove_prefix((std::min)(labels.size(), key.size() + 1));
        const std::string_view value = labels.substr(0, labels.find('\0'));
        labels.remove_prefix((std::min)(labels.size(), value.size() + 1));
        f(key, value);
    }
}

// "G 42", or "G 42 name".
[[nodiscard]] std::string title_of(const recorded& r, const track& g);

}  // namespace weft::observe::detail
