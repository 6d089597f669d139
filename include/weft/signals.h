// signals.h: signals of the system, received from a channel.
//
//     weft::signals::subscription stop = weft::signals::notify({SIGINT, SIGTERM});
//     weft::select(
//         weft::on_recv(stop.channel(), [](std::optional<int> signal) { … }),
//         weft::on_recv(requests, […]));
//
// While a signal is subscribed to it does not do what it does by default; handlers that the program has installed before are called as ever.
// When its last subscription ends, all is as it was before the first. Each subscription gets each of its signals, as long as there is room in
// its channel: what finds it full is dropped for it, as in Go, so that nobody who is slow holds up a signal. Signals of one kind
// that come in quick succession may arrive as one, as the system has it.
//
// There is no thread for it: the system's handler leaves a mark and makes a descriptor readable, which is in a poller like any other (of the
// runtime on which the first subscription was made; once that has stopped, of plain threads). Nothing is called a deadlock while somebody waits
// for a signal.
//
// A signal comes to a thread of the program that does not block it: its first one, as a rule, or that of weft::main. If all block it, it does not
// come.
//
// Refused, with std::invalid_argument and a word on what to do: SIGKILL and SIGSTOP; those that tell of faults (SIGSEGV, SIGBUS, SIGFPE, SIGILL,
// SIGTRAP, SIGABRT, SIGSYS); those of the C library, and those that the runtime uses itself (SIGURG, and what RUN_PREEMPT_SIGNAL says).
//
// After fork, the child has none: the actions from before are in force there, and subscriptions hear nothing.
//
// Who: any thread; not from a signal handler.
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

// What notify() returns. Movable. Any number of threads may receive from it, or from handles of its channel; moving, assigning and destroying
// are for one, while nobody else uses the object.
class subscription {
public:
    // None: its channel is nil.
    subscription() noexcept;

    subscription(subscription&& other) noexcept;
    subscription& operator=(subscription&& other) noexcept;
    ~subscription();  // stops it

    // For select, and for handing on. Closed when the subscription ends.
    [[nodiscard]] recv_chan<int> channel() const noexcept { return channel_; }

    // Waits for the next signal: its number. Nothing: the subscription has ended. A cancellation point.
    [[nodiscard]] std::optional<int> recv() const { return channel_.recv(); }

    [[nodiscard]] recv_result<int> try_recv() const { return channel_.try_recv(); }

    template <typename Rep, typename Period>
    [[nodiscard]] recv_result<int> recv_for(std::chrono::duration<Rep, Period> timeout) const {
        return channel_.recv_for(timeout);
    }

    // No more signals come. What is in the channel can be received, then it is closed. Any number of times, by one thread at a time.
    void stop() noexcept;

private:
    friend subscription notify(std::span<const int> which, std::size_t capacity);

    explicit subscription(std::unique_ptr<detail::signal_subscriber> subscriber) noexcept;

    std::unique_ptr<detail::signal_subscriber> subscriber_;
    chan<int> channel_;
};

// From now on these signals are sent to the channel of the subscription, which holds capacity of them: one of each kind, or 1, if only the last
// question is whether there was any. Throws std::invalid_argument: a signal that is refused (see above), none at all, or no capacity;
// std::system_error: the system has no descriptors left; std::bad_alloc. Nothing has changed then.
[[nodiscard]] subscription notify(std::span<const int> which, std::size_t capacity = 16);

[[nodiscard]] inline subscription notify(std::initializer_list<int> which, std::size_t capacity = 16) {
    return notify(std::span<const int>(which.begin(), which.size()), capacity);
}

// From now on these signals do nothing, until they are reset or subscribed to anew. Subscriptions that there are do not get them any more.
// Programs that are started with weft::process have them as usual. Throws as notify.
void ignore(std::span<const int> which);

inline void ignore(std::initializer_list<int> which) { ignore(std::span<const int>(which.begin(), which.size())); }

// All is as it was before the first notify() or ignore() for these signals. Subscriptions that there are do not get them any more. Throws as notify.
void reset(std::span<const int> which);

inline void reset(std::initializer_list<int> which) { reset(std::span<const int>(which.begin(), which.size())); }

// Whether the signal does nothing, because of ignore(), or because this process began so (nohup).
[[nodiscard]] bool is_ignored(int signal);

}  // namespace signals

}  // namespace weft
