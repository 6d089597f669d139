// sim.h: tests of concurrent code that control which green thread runs.
//
// explore() runs a function many times. Each time another order of its green threads is tried, on
// one OS thread, with a clock that moves only when all of them wait. A failure is repeatable: the
// report has a schedule, a short text with which replay() runs the same order again.
//
// The code under test is the code that runs in production: weft's green threads, channels, locks,
// timers and deadlines work as usual. What is not controlled, and therefore must not decide
// anything: plain threads, clocks other than weft's, descriptors, addresses of objects.
//
// See: docs/sim.md
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include <weft/detail/require.h>

namespace weft::sim {

/// How the next green thread is chosen, where several could run.
enum class strategy : uint8_t {
    /// The others in turns. The default.
    portfolio,
    /// Each is equally likely.
    random_walk,
    /// Random priorities; a running green thread loses its priority at `depth` - 1 random steps.
    /// Finds every bug that takes `depth` decisions with a known probability (Burckhardt et al.,
    /// "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs", 2010).
    pct,
    /// Random priorities of operations, drawn again for those that use the same object (Yuan et
    /// al., "Partial Order Aware Concurrency Sampling", 2018).
    partial_order,
    /// Each order is about equally likely: a green thread is chosen the more often, the more steps
    /// it still has, by the schedules before (Zhao et al., "Selectively Uniform Concurrency
    /// Testing", 2025; here all operations count).
    uniform_walk,
    /// All orders with at most `preemptions` switches away from a green thread that could continue.
    exhaustive,
    /// All orders that differ in what an operation sees: dynamic partial-order reduction (Flanagan
    /// and Godefroid, 2005). Needs before_operations. Orders of accesses to plain data that no
    /// operation of weft, or sim::shared, protects are not told apart.
    dpor,
    /// The default order, except that the green thread that would run is passed over at up to
    /// `depth` random steps. Few schedules, all close to what happens without a fault (Emmi et al.,
    /// "Delay-Bounded Scheduling", 2011).
    delay_bounded,
};

struct options {
    /// Where random choices begin. 0: WEFT_SIM_SEED, else 1.
    uint64_t seed = 0;
    /// Ends after that many schedules. 0: WEFT_SIM_SCHEDULES, else 1000.
    uint64_t schedules = 0;
    /// Ends after that much time. 0: no limit.
    std::chrono::nanoseconds budget{0};
    /// Searches with so many processes, each with a seed of its own: children of this one, which
    /// have only the calling thread. The number of schedules is that of all of them. The failure
    /// is reported by this process, as if it had found it. A child that is killed is a failure,
    /// too. At most 1024. Not for exhaustive and dpor, not on Windows. 0: WEFT_SIM_PROCESSES,
    /// else 1.
    unsigned processes = 0;
    strategy pick = strategy::portfolio;
    /// Not empty: a schedule of a report. It runs first, then others that differ from it in a few
    /// choices, instead of what pick says. To see whether a correction holds near a failure. Empty:
    /// WEFT_SIM_AROUND.
    std::string around{};
    unsigned depth = 3;        ///< of strategy::pct and strategy::delay_bounded
    unsigned preemptions = 2;  ///< of strategy::exhaustive
    /// By how much a green thread that could run may be late. A timer that is due within that time
    /// may fire first. 0: never; the time then moves only while all wait.
    std::chrono::nanoseconds lateness = std::chrono::milliseconds(10);
    /// A schedule with more steps is a livelock.
    uint64_t max_steps = 1'000'000;
    /// How many steps a green thread may wait for a lock, condition, semaphore, channel or select
    /// while others go on. More is verdict::starved. 0: any number.
    uint64_t longest_wait = 0;
    /// Whether another green thread may run before each operation on a channel, lock or other
    /// object; else only where one waits, yields or ends.
    bool before_operations = true;
    /// Whether the schedule of a failure is made as short as possible.
    bool shrink = true;
    /// Whether verdict::lock_order is looked for.
    bool lock_order = true;
    /// Not empty: a failing schedule is written to this file, as a trace of Perfetto. Empty:
    /// WEFT_SIM_TRACE.
    std::string trace{};
    /// Asked after each schedule, on the thread that called explore(): whether a check of the test
    /// has failed. Empty: only exceptions count.
    std::function<bool()> has_failed{};
};

enum class verdict : uint8_t {
    passed,
    failed,        ///< an exception left a green thread, or options::has_failed
    deadlock,      ///< the function did not return, and nothing can run
    leaked,        ///< the function returned, and some green threads wait for ever
    livelock,      ///< options::max_steps
    race,          ///< two accesses to a sim::shared that nothing orders, one of which writes
    uncontrolled,  ///< something outside of the simulation took part
    unrepeatable,  ///< of check_repeatable()
    lock_order,    ///< every schedule passed; in one, locks were taken in orders that can deadlock
    starved,       ///< options::longest_wait
};

/// Result of explore() and replay().
struct report {
    verdict result = verdict::passed;
    uint64_t schedules = 0;   ///< that ran before the failure was found, and the failing one
    uint64_t steps = 0;       ///< of all of them
    bool exhausted = false;   ///< exhaustive or dpor has tried everything
    std::string reason;       ///< in words; of an exception what() says
    std::string schedule;     ///< for replay()
    std::size_t choices = 0;  ///< in it: decisions that differ from the order in which nothing is preempted
    std::string steps_text;   ///< what happened, a line for each step

    explicit operator bool() const noexcept { return result == verdict::passed; }

    /// All of it, as explore_or_throw throws it.
    [[nodiscard]] std::string text() const;
};

/// Runs body with many schedules, until one fails. Blocks; not in a green thread. WEFT_SIM=SCHEDULE
/// in the environment runs that one only. Throws std::invalid_argument if that cannot be parsed;
/// resource_exhausted.
[[nodiscard]] report explore(const options& with, std::function<void()> body);

/// Runs body with the schedule of a report.
[[nodiscard]] report replay(const std::string& schedule, const options& with, std::function<void()> body);

/// Runs body with the schedule that input describes, for fuzzers: each pair of bytes says how many
/// choices follow the default order, and which other option is taken then. After its end, all do.
/// Schedules that resemble each other have inputs that do. See fuzz.h.
[[nodiscard]] report explore_input(std::span<const unsigned char> input,
                                   const options& with,
                                   std::function<void()> body);

/// Runs each schedule of explore() twice, and fails where the second run differs from the first:
/// verdict::unrepeatable, with the first step that differs. A test whose schedules cannot be
/// repeated depends on something that is not simulated, such as an address or a plain thread.
[[nodiscard]] report check_repeatable(const options& with, std::function<void()> body);

/// Thrown by run(); what() is report::text().
class failure : public std::runtime_error {
public:
    explicit failure(report r) : std::runtime_error(r.text()), report_(std::move(r)) {}

    [[nodiscard]] const report& why() const noexcept { return report_; }

private:
    report report_;
};

/// As explore(), but throws failure.
report run(const options& with, std::function<void()> body);
report run(std::function<void()> body);

/// A number below n, chosen by the schedule, so that it is repeated with it. Outside of a
/// simulation: random. n must not be 0.
[[nodiscard]] uint32_t choose(uint32_t n);

}  // namespace weft::sim
