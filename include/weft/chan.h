// chan.h: typed channels between threads, as in Go.
//
// A chan<T> is a handle, copied like a shared_ptr; the channel lives as long as any handle.
// - Unbuffered (capacity 0): a value goes directly from sender to receiver, stack to slot.
// - Buffered: holds up to capacity values; further senders block.
// - Values come out in the order they went in.
// - Closing wakes all waiters. Receivers drain the buffer, then get nullopt; senders throw
//   channel_closed.
//
// send_chan<T> and recv_chan<T> can only send or only receive. Dropping a handle does not close the
// channel.
//
//     for (auto&& job : jobs) run(job);                              // until jobs is closed and drained
//     for (auto&& n : numbers | std::views::filter(is_even)) …       // a channel is an input range
//     if (!log.try_send(line)) ++dropped;                            // a chan_status is true if it is ok
//
// Any thread may call every operation; a plain thread blocks where a green thread would park.
//
// Invariants:  I1. count > 0 implies no waiting receiver; count < capacity implies no waiting
//                  sender.
//              I2. Buffered values are the oldest. A receiver takes the buffer's head, then the
//                  first waiting sender's value moves into the free slot. Serving a waiting sender
//                  first would break the order.
//              I3. No thread is made ready while the channel's lock is held.
// See:         docs/channels.md, test/model/chan_model.cc
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <span>  // declares std::ranges::disable_sized_range; <ranges> breaks where min and max are macros
#include <system_error>
#include <type_traits>
#include <utility>

#include <weft/detail/chan_state.h>
#include <weft/detail/require.h>
#include <weft/detail/step.h>
#include <weft/detail/time_point.h>
#include <weft/error.h>

namespace weft {

template <typename T>
class chan;
template <typename T>
class send_chan;
template <typename T>
class recv_chan;

namespace detail {

// The error of a channel operation that failed.
[[nodiscard]] std::error_code error_of(chan_status status, wait_result interrupted) noexcept;

// For select: the state behind a handle; nullptr for a nil channel. For timers: another handle.
struct chan_access {
    template <typename T>
    static chan<T> handle(chan_state<T>& s) noexcept {
        chan<T> c = chan<T>::nil();
        c.state_ = &s;
        s.retain();
        return c;
    }

    template <typename T>
    static chan_state<T>* state(const chan<T>& c) noexcept {
        return c.state_;
    }

    template <typename T>
    static chan_state<T>* state(const send_chan<T>& c) noexcept {
        return c.chan_.state_;
    }

    template <typename T>
    static chan_state<T>* state(const recv_chan<T>& c) noexcept {
        return c.chan_.state_;
    }
};

// Operands of ==, <=> and std::hash: handles of any direction.
template <typename A, typename B>
[[nodiscard]] bool same_channel(const A& a, const B& b) noexcept {
    return chan_access::state(a) == chan_access::state(b);
}

template <typename A, typename B>
[[nodiscard]] std::strong_ordering order_of_channels(const A& a, const B& b) noexcept {
    return std::compare_three_way()(chan_access::state(a), chan_access::state(b));
}

template <typename Handle>
struct chan_hash {
    [[nodiscard]] std::size_t operator()(const Handle& c) const noexcept {
        return std::hash<const void*>()(chan_access::state(c));
    }
};

}  // namespace detail

/// Result of a receive with a bounded wait: a status, and the value if the status is ok.
template <typename T>
struct recv_result {
    chan_status status;
    std::optional<T> value;

    explicit operator bool() const noexcept { return static_cast<bool>(status); }

    T& operator*() noexcept { return *value; }

    const T& operator*() const noexcept { return *value; }

    T* operator->() noexcept { return &*value; }

    const T* operator->() const noexcept { return &*value; }
};

/// A channel of T. T must be nothrow move constructible: values are moved while other threads wait.
template <typename T>
class chan {
    static_assert(std::is_nothrow_move_constructible_v<T>,
                  "weft::chan<T>: T must be nothrow move constructible; send a std::unique_ptr<T> instead");
    static_assert(std::is_nothrow_destructible_v<T>, "weft::chan<T>: the destructor of T must be noexcept");

public:
    using value_type = T;

    /// Makes an unbuffered channel. Throws std::bad_alloc.
    chan() : chan(0) {}

    /// Makes a channel for up to capacity values. Throws std::bad_alloc, also if capacity exceeds
    /// any possible memory.
    explicit chan(std::size_t capacity) : state_(detail::chan_state<T>::create(capacity)) {}

    /// The nil channel: never ready; every operation blocks for ever, and closing is fatal.
    static chan nil() noexcept { return chan(nullptr_tag{}); }

    chan(const chan& other) noexcept : state_(other.state_) { retain(); }

    chan(chan&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}

    chan& operator=(chan other) noexcept {
        std::swap(state_, other.state_);
        return *this;
    }

    ~chan() {
        if (state_ != nullptr) state_->drop();
    }

    /// Sends value. Blocks while the channel is full; if unbuffered, until a receiver takes it.
    /// Throws channel_closed if the channel is or becomes closed; value is then unchanged.
    void send(T&& value) const {
        if (send_slot(value, detail::never) != chan_status::ok) throw channel_closed();
    }

    void send(const T& value) const
        requires std::is_copy_constructible_v<T>
    {
        T copy(value);
        send(std::move(copy));
    }

    /// Like send(), but reports errors in ec: errc::channel_closed, cancelled or timed_out.
    void send(T&& value, std::error_code& ec) const {
        detail::wait_result interrupted{};
        const chan_status status = send_slot(value, detail::never, &interrupted);
        ec = detail::error_of(status, interrupted);
    }

    void send(const T& value, std::error_code& ec) const
        requires std::is_copy_constructible_v<T>
    {
        T copy(value);
        send(std::move(copy), ec);
    }

    /// Sends without waiting: ok, would_block or closed. An rvalue is moved from only on ok; an
    /// lvalue is copied first.
    [[nodiscard]] chan_status try_send(T&& value) const { return send_slot(value, 0); }

    [[nodiscard]] chan_status try_send(const T& value) const
        requires std::is_copy_constructible_v<T>
    {
        T copy(value);
        return send_slot(copy, 0);
    }

    /// Sends, waiting at most for timeout, or until deadline: ok, timed_out or closed. value as for
    /// try_send().
    template <typename Rep, typename Period>
    [[nodiscard]] chan_status send_for(T&& value, std::chrono::duration<Rep, Period> timeout) const {
        return send_slot(value, detail::deadline_after(timeout));
    }

    template <typename Rep, typename Period>
    [[nodiscard]] chan_status send_for(const T& value, std::chrono::duration<Rep, Period> timeout) const
        requires std::is_copy_constructible_v<T>
    {
        T copy(value);
        return send_slot(copy, detail::deadline_after(timeout));
    }

    template <typename Clock, typename Duration>
    [[nodiscard]] chan_status send_until(T&& value, std::chrono::time_point<Clock, Duration> deadline) const {
        return send_slot(value, detail::deadline_at(deadline));
    }

    template <typename Clock, typename Duration>
    [[nodiscard]] chan_status send_until(const T& value, std::chrono::time_point<Clock, Duration> deadline) const
        requires std::is_copy_constructible_v<T>
    {
        T copy(value);
        return send_slot(copy, detail::deadline_at(deadline));
    }

    /// Receives the oldest value; blocks until there is one. nullopt: closed and drained.
    [[gnu::always_inline]] std::optional<T> recv() const {
        // A function would return a small optional in registers. Its flag, which has just been
        // stored, is then read with its padding, and that read waits until the store has left the
        // store buffer: a message takes nearly twice as long.
        std::optional<T> value;
        recv_slot(value, detail::never);
        return value;
    }

    /// Like recv(), but reports errors in ec: errc::cancelled or timed_out. ec is clear if nullopt
    /// means closed.
    [[gnu::always_inline]] std::optional<T> recv(std::error_code& ec) const {
        std::optional<T> value;
        detail::wait_result interrupted{};
        const chan_status status = recv_slot(value, detail::never, &interrupted);
        ec = status == chan_status::closed ? std::error_code() : detail::error_of(status, interrupted);
        return value;
    }

    /// Receives without waiting: ok, would_block or closed.
    [[nodiscard]] recv_result<T> try_recv() const { return recv_result_by(0); }

    /// Receives, waiting at most for timeout, or until deadline: ok, timed_out or closed.
    template <typename Rep, typename Period>
    [[nodiscard]] recv_result<T> recv_for(std::chrono::duration<Rep, Period> timeout) const {
        return recv_result_by(detail::deadline_after(timeout));
    }

    template <typename Clock, typename Duration>
    [[nodiscard]] recv_result<T> recv_until(std::chrono::time_point<Clock, Duration> deadline) const {
        return recv_result_by(detail::deadline_at(deadline));
    }

    /// Closes the channel and wakes all waiters. Closing twice, or closing nil, is fatal.
    /// O(waiters).
    void close() const { detail::chan_close(state_); }

    /// Returns whether the channel has been closed. Values may still be buffered.
    [[nodiscard]] bool closed() const noexcept {
        detail::step(detail::operation::chan_read, state_);
        return state_ != nullptr && state_->is_closed();
    }

    /// The number of buffered values, and its maximum, with the standard library's names and with
    /// Go's. A snapshot: other threads may change the number.
    [[nodiscard]] std::size_t size() const noexcept {
        detail::step(detail::operation::chan_read, state_);
        return state_ == nullptr ? 0 : state_->len();
    }

    [[nodiscard]] std::size_t capacity() const noexcept { return state_ == nullptr ? 0 : state_->cap(); }

    [[nodiscard]] std::size_t len() const noexcept { return size(); }

    [[nodiscard]] std::size_t cap() const noexcept { return capacity(); }

    /// Handles are equal if they refer to the same channel, in any direction; nil handles are
    /// equal. The order is arbitrary, for maps and sets. std::hash agrees with ==.
    friend bool operator==(const chan& a, const chan& b) noexcept { return detail::same_channel(a, b); }

    friend std::strong_ordering operator<=>(const chan& a, const chan& b) noexcept {
        return detail::order_of_channels(a, b);
    }

    /// A channel is a std::ranges::input_range, if T is movable: its elements are what is received
    /// until it is closed and drained. An element is received when the iterator is first compared
    /// or dereferenced, not when it is incremented, so std::views::take(n) receives n values and no
    /// more. Dereferencing yields T&&; at the end it is undefined. The handle must outlive its
    /// iterators. Cancellation points: comparing and dereferencing, where they wait.
    class iterator {
    public:
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;

        explicit iterator(const chan* from) noexcept : from_(from) {}

        T&& operator*() const {
            if (!value_.has_value()) [[unlikely]]
                receive();
            return std::move(*value_);
        }

        iterator& operator++() {
            if (!value_.has_value()) [[unlikely]]
                receive();  // the element that is skipped
            value_.reset();
            return *this;
        }

        void operator++(int) { ++*this; }

        friend bool operator==(const iterator& it, std::default_sentinel_t) { return it.is_at_end(); }

    private:
        bool is_at_end() const {
            if (!value_.has_value() && !ended_) ended_ = from_->recv_slot(value_, detail::never) == chan_status::closed;
            return !value_.has_value();
        }

        // For an element that was not compared with the end. Loops compare, so this is not inlined.
        [[gnu::noinline]] void receive() const {
            std::optional<T> got = from_->recv();
            ended_ = !got.has_value();
            if (!ended_) value_.emplace(std::move(*got));
        }

        const chan* from_;
        mutable std::optional<T> value_;  // empty: not yet received, or at the end
        mutable bool ended_ = false;
    };

    iterator begin() const noexcept { return iterator(this); }

    std::default_sentinel_t end() const noexcept { return {}; }

private:
    friend class send_chan<T>;
    friend class recv_chan<T>;
    friend struct detail::chan_access;

    struct nullptr_tag {};

    explicit chan(nullptr_tag) noexcept : state_(nullptr) {}

    void retain() const noexcept {
        if (state_ != nullptr) state_->retain();
    }

    // Inlined to the end: each of the public functions has constants for deadline_ns and
    // interrupted.
    [[gnu::always_inline]] chan_status send_slot(T& value,
                                                 int64_t deadline_ns,
                                                 detail::wait_result* interrupted = nullptr) const {
        if (state_ == nullptr) return detail::nil_wait(detail::wait_reason::chan_send_nil, deadline_ns, interrupted);
        detail::step(detail::operation::chan_send, state_);
        return state_->send(value, deadline_ns, interrupted);
    }

    [[gnu::always_inline]] chan_status recv_slot(std::optional<T>& value,
                                                 int64_t deadline_ns,
                                                 detail::wait_result* interrupted = nullptr) const {
        if (state_ == nullptr) return detail::nil_wait(detail::wait_reason::chan_receive_nil, deadline_ns, interrupted);
        detail::step(detail::operation::chan_receive, state_);
        return state_->recv(value, deadline_ns, interrupted);
    }

    recv_result<T> recv_result_by(int64_t deadline_ns) const {
        recv_result<T> result{chan_status::ok, std::nullopt};
        result.status = recv_slot(result.value, deadline_ns);
        return result;
    }

    detail::chan_state<T>* state_;
};

/// A channel handle that can only send. Converts from chan<T>; members as in chan<T>.
template <typename T>
class send_chan {
public:
    using value_type = T;

    send_chan(chan<T> whole) noexcept : chan_(std::move(whole)) {}  // NOLINT: a view converts

    void send(T&& value) const { chan_.send(std::move(value)); }

    void send(const T& value) const
        requires std::is_copy_constructible_v<T>
    {
        chan_.send(value);
    }

    void send(T&& value, std::error_code& ec) const { chan_.send(std::move(value), ec); }

    void send(const T& value, std::error_code& ec) const
        requires std::is_copy_constructible_v<T>
    {
        chan_.send(value, ec);
    }

    [[nodiscard]] chan_status try_send(T&& value) const { return chan_.try_send(std::move(value)); }

    [[nodiscard]] chan_status try_send(const T& value) const
        requires std::is_copy_constructible_v<T>
    {
        return chan_.try_send(value);
    }

    template <typename Rep, typename Period>
    [[nodiscard]] chan_status send_for(T&& value, std::chrono::duration<Rep, Period> timeout) const {
        return chan_.send_for(std::move(value), timeout);
    }

    template <typename Rep, typename Period>
    [[nodiscard]] chan_status send_for(const T& value, std::chrono::duration<Rep, Period> timeout) const
        requires std::is_copy_constructible_v<T>
    {
        return chan_.send_for(value, timeout);
    }

    template <typename Clock, typename Duration>
    [[nodiscard]] chan_status send_until(T&& value, std::chrono::time_point<Clock, Duration> deadline) const {
        return chan_.send_until(std::move(value), deadline);
    }

    template <typename Clock, typename Duration>
    [[nodiscard]] chan_status send_until(const T& value, std::chrono::time_point<Clock, Duration> deadline) const
        requires std::is_copy_constructible_v<T>
    {
        return chan_.send_until(value, deadline);
    }

    void close() const { chan_.close(); }

    [[nodiscard]] bool closed() const noexcept { return chan_.closed(); }

    [[nodiscard]] std::size_t size() const noexcept { return chan_.size(); }

    [[nodiscard]] std::size_t capacity() const noexcept { return chan_.capacity(); }

    [[nodiscard]] std::size_t len() const noexcept { return chan_.size(); }

    [[nodiscard]] std::size_t cap() const noexcept { return chan_.capacity(); }

    /// As in chan.
    friend bool operator==(const send_chan& a, const send_chan& b) noexcept { return detail::same_channel(a, b); }

    friend std::strong_ordering operator<=>(const send_chan& a, const send_chan& b) noexcept {
        return detail::order_of_channels(a, b);
    }

    friend bool operator==(const send_chan& a, const chan<T>& b) noexcept { return detail::same_channel(a, b); }

    friend std::strong_ordering operator<=>(const send_chan& a, const chan<T>& b) noexcept {
        return detail::order_of_channels(a, b);
    }

    friend bool operator==(const send_chan& a, const recv_chan<T>& b) noexcept { return detail::same_channel(a, b); }

    friend std::strong_ordering operator<=>(const send_chan& a, const recv_chan<T>& b) noexcept {
        return detail::order_of_channels(a, b);
    }

private:
    friend struct detail::chan_access;

    chan<T> chan_;
};

/// A channel handle that can only receive. Converts from chan<T>; members as in chan<T>.
template <typename T>
class recv_chan {
public:
    using value_type = T;

    recv_chan(chan<T> whole) noexcept : chan_(std::move(whole)) {}  // NOLINT: a view converts

    [[gnu::always_inline]] std::optional<T> recv() const { return chan_.recv(); }

    [[gnu::always_inline]] std::optional<T> recv(std::error_code& ec) const { return chan_.recv(ec); }

    [[nodiscard]] recv_result<T> try_recv() const { return chan_.try_recv(); }

    template <typename Rep, typename Period>
    [[nodiscard]] recv_result<T> recv_for(std::chrono::duration<Rep, Period> timeout) const {
        return chan_.recv_for(timeout);
    }

    template <typename Clock, typename Duration>
    [[nodiscard]] recv_result<T> recv_until(std::chrono::time_point<Clock, Duration> deadline) const {
        return chan_.recv_until(deadline);
    }

    [[nodiscard]] bool closed() const noexcept { return chan_.closed(); }

    [[nodiscard]] std::size_t size() const noexcept { return chan_.size(); }

    [[nodiscard]] std::size_t capacity() const noexcept { return chan_.capacity(); }

    [[nodiscard]] std::size_t len() const noexcept { return chan_.size(); }

    [[nodiscard]] std::size_t cap() const noexcept { return chan_.capacity(); }

    typename chan<T>::iterator begin() const noexcept { return chan_.begin(); }

    std::default_sentinel_t end() const noexcept { return {}; }

    /// As in chan.
    friend bool operator==(const recv_chan& a, const recv_chan& b) noexcept { return detail::same_channel(a, b); }

    friend std::strong_ordering operator<=>(const recv_chan& a, const recv_chan& b) noexcept {
        return detail::order_of_channels(a, b);
    }

    friend bool operator==(const recv_chan& a, const chan<T>& b) noexcept { return detail::same_channel(a, b); }

    friend std::strong_ordering operator<=>(const recv_chan& a, const chan<T>& b) noexcept {
        return detail::order_of_channels(a, b);
    }

private:
    friend struct detail::chan_access;

    chan<T> chan_;
};

}  // namespace weft

/// size() counts the buffered values, not the elements of the range.
template <typename T>
inline constexpr bool std::ranges::disable_sized_range<weft::chan<T>> = true;
template <typename T>
inline constexpr bool std::ranges::disable_sized_range<weft::recv_chan<T>> = true;

template <typename T>
struct std::hash<weft::chan<T>> : weft::detail::chan_hash<weft::chan<T>> {};

template <typename T>
struct std::hash<weft::send_chan<T>> : weft::detail::chan_hash<weft::send_chan<T>> {};

template <typename T>
struct std::hash<weft::recv_chan<T>> : weft::detail::chan_hash<weft::recv_chan<T>> {};
