// signals.h: receives system signals from a channel.
//
//     weft::signals::subscription stop = weft::signals::notify({SIGINT, SIGTERM});
//     weft::select(
//         weft::on_recv(stop.channel(), [](std::optional<int> signal) { … }),
//         weft::on_recv(requests, […]));
//
// While a signal is subscribed to, its default action is disabled; earlier handlers are still
// called. After its last subscription the previous state is restored. Each subscription gets each
// of its signals while its channel has room; a full channel drops them, as in Go, so a slow
// receiver delays no signal. Signals of one kind in quick succession may arrive as one, as the
// system defines.
//
// No thread is needed: the handler sets a mark and makes a descriptor readable. A poller waits for
// it: that of the first subscription's runtime, or, once that has stopped, that of plain threads.
// No deadlock is reported while a thread waits for a signal.
//
// A signal is delivered to a thread of the program that does not block it: usually the first one,
// or that of weft::main. If all block it, it does not arrive.
//
// Refused, with std::invalid_argument and advice: SIGKILL and SIGSTOP; fault signals (SIGSEGV,
// SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS); those of the C library; those that the runtime
// uses (SIGURG and RUN_PREEMPT_SIGNAL).
//
// After fork the child has none: the previous actions apply there, and subscriptions receive
// nothing.
//
// Threads: any thread; not from a signal handler.
// See: docs/signals.md
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>

#include <weft/chan.h>
#include <weft/detail/require.h>

namespace weft {

namespace detail {
class signal_subscriber;
}

namespace signals {

/// The result of notify(). Movable. Any number of threads may receive from it, or from handles of
/// its channel. Moving, assigning and destroying require that no other thread uses the object.
class subscription {
public:
    /// No subscription: its channel is nil.
    subscription() noexcept;

    subscription(subscription&& other) noexcept;
    subscription& operator=(subscription&& other) noexcept;
    ~subscription();  // stops it

    /// For select and for other receivers. Closed when the subscription ends.
    [[nodiscard]] recv_chan<int> channel() const noexcept { return channel_; }

    /// Waits for the next signal and returns its number; nullopt if the subscription has ended. A
    /// cancellation point.
    std::optional<int> recv() const { return channel_.recv(); }

    [[nodiscard]] recv_result<int> try_recv() const { return channel_.try_recv(); }

    template <typename Rep, typename Period>
    [[nodiscard]] recv_result<int> recv_for(std::chrono::duration<Rep, Period> timeout) const {
        return channel_.recv_for(timeout);
    }

    /// Ends the subscription. Signals in the channel can still be received, then it is closed. May
    /// be called repeatedly, by one thread at a time.
    void stop() noexcept;

private:
    friend subscription notify(std::span<const int> which, std::size_t capacity);

    explicit subscription(std::unique_ptr<detail::signal_subscriber> subscriber) noexcept;

    std::unique_ptr<detail::signal_subscriber> subscriber_;
    chan<int> channel_;
};

/// Subscribes to these signals. capacity is the channel's capacity: one per kind, or 1 if only the
/// fact that one arrived matters. Throws std::invalid_argument (a refused signal, see above, no
/// signal, or no capacity), std::system_error (out of descriptors), std::bad_alloc. Nothing has
/// changed then.
[[nodiscard]] subscription notify(std::span<const int> which, std::size_t capacity = 16);

[[nodiscard]] inline subscription notify(std::initializer_list<int> which, std::size_t capacity = 16) {
    return notify(std::span<const int>(which.begin(), which.size()), capacity);
}

/// Ignores these signals until they are reset or subscribed to again. Existing subscriptions no
/// longer get them. Programs started with weft::process get the default actions. Throws as notify.
void ignore(std::span<const int> which);

inline void ignore(std::initializer_list<int> which) { ignore(std::span<const int>(which.begin(), which.size())); }

/// Restores the state before the first notify() or ignore() of these signals. Existing
/// subscriptions no longer get them. Throws as notify.
void reset(std::span<const int> which);

inline void reset(std::initializer_list<int> which) { reset(std::span<const int>(which.begin(), which.size())); }

/// Returns whether the signal is ignored, by ignore() or since this process began (nohup).
[[nodiscard]] bool is_ignored(int signal);

}  // namespace signals

}  // namespace weft
