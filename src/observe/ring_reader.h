// ring_reader.h: reads the rings of a runtime: from ticks and addresses to times and texts.
//
// Threads: any; each object one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "events/event.h"
#include "events/event_ring.h"
#include "observe/recorded.h"
#include "sched/g.h"
#include "sched/recording.h"

namespace weft::observe::detail {

// One moment on all clocks.
struct instant {
    uint64_t ticks;
    int64_t monotonic_ns;
    int64_t realtime_ns;
};

[[nodiscard]] instant now() noexcept;

// Turns ticks into nanoseconds, from two instants at least some time apart.
class clock_line {
public:
    clock_line(const instant& a, const instant& b) noexcept;
    [[nodiscard]] int64_t ns_of(uint64_t ticks) const noexcept;

private:
    instant from_;
    double ns_per_tick_;
};

// Turns events into steps, and their strings into texts of `into`.
class decoder {
public:
    decoder(recorded& into, const clock_line& clock, uint64_t from_ticks) noexcept
        : into_(into), clock_(clock), from_ticks_(from_ticks) {}

    // The events of one thread that are not older than from_ticks. From events that say so, ring
    // gets the thread's numbers.
    [[nodiscard]] std::vector<step> steps_of(const std::vector<weft::detail::event>& all,
                                             uint32_t thread,
                                             recorded_ring& ring);

    // What older events say of green threads.
    void add_remembered();

private:
    void remember(const weft::detail::event& e, uint32_t text);

    recorded& into_;
    const clock_line& clock_;
    uint64_t from_ticks_;
    std::unordered_map<uint64_t, known_g> remembered_;
};

// Adds a text to r.texts; 0 if it is empty.
uint32_t add_text(recorded& r, std::string text);

// A green thread that lives, and may have had its start before the recording.
struct live_g {
    uint64_t id;
    uint64_t site;
    char name[weft::detail::G::name_size];
    std::string labels;  // as a text of a recording
};

// At most 100 000. Throws std::bad_alloc.
[[nodiscard]] std::vector<live_g> live_gs(weft::detail::recording& source);

void add_gs(recorded& r, const std::vector<live_g>& gs);

// Fills in places and literals that r's steps and gs mention.
void add_names(recorded& r);

// An M, and the ring that it writes to.
struct live_m {
    const weft::detail::event_ring* ring;
    uint32_t index;
    int tid;
};

[[nodiscard]] std::vector<live_m> live_ms(weft::detail::recording& source);

// Fills in the process.
void add_process(recorded& r, const instant& at);

}  // namespace weft::observe::detail
