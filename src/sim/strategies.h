// strategies.h: how a simulation chooses among green threads that could run.
//
// A strategy sees each decision: the options, and for each the operation that it would begin.
// Option 0 is the default: the green thread that runs, or the one that waits longest. It returns
// the number of an option. It is deterministic: the same seed and the same decisions give the same
// choices.
//
// Threads: one.
// See:     docs/sim.md
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <weft/sim/sim.h>

#include "base/prng.h"
#include "sched/simulation.h"
#include "sim/schedule_text.h"

namespace weft::sim {

struct candidate {
    uint32_t g;  // its number in this schedule, from 1
    weft::detail::operation next;
    const void* object;  // nullptr: none, or several
};

class chooser {
public:
    chooser() = default;
    virtual ~chooser() = default;
    chooser(const chooser&) = delete;
    chooser& operator=(const chooser&) = delete;

    // A schedule begins. False: all have been tried.
    [[nodiscard]] virtual bool begin() = 0;
    // Which of at least two continues. can_continue: options[0] runs now.
    [[nodiscard]] virtual uint32_t pick(std::span<const candidate> options, bool can_continue) = 0;
    // A value below n, n > 1, for the program or the runtime.
    [[nodiscard]] virtual uint32_t draw(uint32_t n) = 0;

    // What happens, for strategies that need more than the options. g begins a step.
    virtual void began(const candidate& /*g*/) {}

    // Within its step. object nullptr: something that any other step may depend on.
    virtual void did(weft::detail::operation /*what*/, const void* /*object*/) {}

    // by 0: a timer or the network.
    virtual void made_runnable(uint32_t /*by*/, uint32_t /*g*/) {}

    // The schedule had that many steps.
    virtual void ended(uint64_t /*steps*/) {}
};

// By options::pick.
[[nodiscard]] std::unique_ptr<chooser> make_chooser(const options& with, uint64_t seed);

// By the input of a fuzzer, which must live longer. Covers the switches that it takes
// (fuzz_counters.h).
[[nodiscard]] std::unique_ptr<chooser> make_from_input(std::span<const unsigned char> input);

// By options::around.
[[nodiscard]] std::unique_ptr<chooser> make_neighbours(const schedule& of, uint64_t seed);

}  // namespace weft::sim
