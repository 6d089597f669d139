// queue_delay.h: how long runnable green threads wait for a processor, so that a server can refuse
// work that it could not finish in time.
//
//     weft::observe::queue_delay queues;
//     if (queues.overloaded()) return refuse(request);
//
// See: docs/queue_delay.md
#pragma once

#include <chrono>
#include <memory>

#include <weft/detail/require.h>

namespace weft::observe {

/// The defaults are those of CoDel (RFC 8289).
struct queue_delay_options {
    std::chrono::nanoseconds target = std::chrono::milliseconds(5);      // a longer wait counts as bad
    std::chrono::nanoseconds interval = std::chrono::milliseconds(100);  // bad for that long: overloaded
    std::chrono::nanoseconds period = std::chrono::milliseconds(5);      // between two measurements
};

/// While one exists, a green thread goes to the end of its queue once in each period, and measures
/// how long it takes until it runs again. So reading costs a few loads, and a program without one
/// pays nothing. Functions: any thread.
class queue_delay {
public:
    /// Measures the runtime of the calling green thread; that of weft::main in a plain thread.
    /// Throws std::invalid_argument if a duration is not greater than zero, std::bad_alloc,
    /// resource_exhausted.
    explicit queue_delay(const queue_delay_options& options = {});

    /// The measuring green thread ends within a period. It also ends when its runtime stops.
    ~queue_delay();

    queue_delay(const queue_delay&) = delete;
    queue_delay& operator=(const queue_delay&) = delete;

    /// The delay that was measured last; if a measurement is under way and has taken longer, that.
    [[nodiscard]] std::chrono::nanoseconds now() const noexcept;

    /// The smallest delay of the last interval: what remains when bursts are over.
    [[nodiscard]] std::chrono::nanoseconds minimum() const noexcept;

    /// An exponentially weighted mean: each measurement counts for one eighth.
    [[nodiscard]] std::chrono::nanoseconds smoothed() const noexcept;

    /// Whether every delay of the last interval was longer than the target.
    [[nodiscard]] bool overloaded() const noexcept;

    /// Whether to refuse the request that has just arrived, by the control law of CoDel: while
    /// overloaded, one after interval, interval / sqrt(2), interval / sqrt(3) …; else none. To
    /// refuse all, use overloaded().
    [[nodiscard]] bool should_shed() noexcept;

private:
    struct state;

    std::shared_ptr<state> state_;
};

}  // namespace weft::observe
