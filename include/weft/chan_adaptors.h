// chan_adaptors.h: several channels as one, batches, the newest values, copies for several.
//
//     for (auto&& line : weft::merge<line>({a, b, c})) …                       // what any of them gets
//     for (auto&& rows : weft::batch(inserts, 100, 10ms)) write(rows);         // at most 100, at most 10 ms late
//     weft::send_latest(position, where);                                      // never waits
//     auto copies = weft::fan_out(scope, events, 3);                           // each of three gets every event
//
// merge() and batch() return objects that the reader pulls: they start no green thread, hold no
// value that the reader has not asked for (a batch in the making excepted), and leave nothing
// behind when the reader stops. Their senders then wait for another reader, as with any channel.
// fan_out() needs a green thread, which belongs to a scope.
//
// Receives are cancellation points. An interrupted one loses no value.
//
// Threads: one at a time for each object of merge() and batch(); the channels may have other
//          receivers, too.
// See: docs/channels.md#adaptors
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/chan.h>
#include <weft/detail/require.h>
#include <weft/detail/select_case.h>
#include <weft/detail/time_point.h>
#include <weft/error.h>
#include <weft/scope.h>
#include <weft/time.h>

namespace weft {

namespace detail {

// The input iterator of an object with recv(). Receives when it is compared or dereferenced.
template <typename From, typename T>
class pull_iterator {
public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;

    explicit pull_iterator(From* from) noexcept : from_(from) {}

    T&& operator*() const {
        receive();
        return std::move(*value_);
    }

    pull_iterator& operator++() {
        receive();  // the element that is skipped
        value_.reset();
        return *this;
    }

    void operator++(int) { ++*this; }

    friend bool operator==(const pull_iterator& it, std::default_sentinel_t /*end*/) {
        it.receive();
        return !it.value_.has_value();
    }

private:
    void receive() const {
        if (value_.has_value() || ended_) return;
        std::optional<T> got = from_->recv();
        ended_ = !got.has_value();
        if (!ended_) value_.emplace(std::move(*got));
    }

    From* from_;
    mutable std::optional<T> value_;  // empty: not yet received, or at the end
    mutable bool ended_ = false;
};

}  // namespace detail

/// Several channels as one; see merge(). Movable.
template <typename T>
class merged_chan {
public:
    using value_type = T;

    /// A nil channel never gets a value, and is left out.
    explicit merged_chan(std::vector<recv_chan<T>> sources) : sources_(std::move(sources)) {
        std::erase_if(sources_, [](const recv_chan<T>& c) { return detail::chan_access::state(c) == nullptr; });
        raw_.reserve(sources_.size());
        locks_.resize(sources_.size());
    }

    merged_chan(merged_chan&&) noexcept = default;
    merged_chan& operator=(merged_chan&&) noexcept = default;
    ~merged_chan() = default;

    /// Returns the next value of any of the channels; of several that have one, a random one's.
    /// Values of one channel keep their order. nullopt: all are closed and drained. Throws
    /// weft::cancelled or weft::timed_out. O(channels).
    [[nodiscard]] std::optional<T> recv() { return next(detail::never, false).value; }

    /// As recv(), without waiting, or with a limit.
    [[nodiscard]] recv_result<T> try_recv() { return next(detail::never, true); }

    template <typename Rep, typename Period>
    [[nodiscard]] recv_result<T> recv_for(std::chrono::duration<Rep, Period> timeout) {
        return next(detail::deadline_after(timeout), false);
    }

    template <typename Clock, typename Duration>
    [[nodiscard]] recv_result<T> recv_until(std::chrono::time_point<Clock, Duration> deadline) {
        return next(detail::deadline_at(deadline), false);
    }

    /// The number of channels that are not known to be closed and drained.
    [[nodiscard]] std::size_t open() const noexcept { return sources_.size(); }

    /// An input range, until all channels are closed and drained.
    [[nodiscard]] auto begin() noexcept { return detail::pull_iterator<merged_chan, T>(this); }

    [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

private:
    recv_result<T> next(int64_t deadline_ns, bool at_once) {
        while (!sources_.empty()) {
            const std::size_t n = sources_.size();
            std::optional<T> value;
            raw_.clear();
            raw_.resize(n);
            for (std::size_t i = 0; i < n; ++i)
                detail::chan_recv_case<T>::prepare(raw_[i], detail::chan_access::state(sources_[i]), value);
            constexpr std::size_t beyond = detail::no_case - 1;
            detail::select_request request{.cases = raw_.data(), .count = n, .locks = locks_.data()};
            request.deadline_ns = deadline_ns;
            request.deadline_case = beyond;
            if (at_once) request.otherwise_case = beyond;
            const std::size_t happened = detail::select_among(request);
            if (happened == beyond) return {at_once ? chan_status::would_block : chan_status::timed_out, std::nullopt};
            if (value.has_value()) return {chan_status::ok, std::move(value)};
            std::swap(sources_[happened], sources_.back());
            sources_.pop_back();  // closed and drained
        }
        return {chan_status::closed, std::nullopt};
    }

    std::vector<recv_chan<T>> sources_;
    std::vector<detail::select_case> raw_;  // rebuilt for each receive, in memory that is kept
    std::vector<detail::held_lock> locks_;
};

/// The values of several channels, as they come; fan-in. Throws std::bad_alloc. Starts nothing.
template <typename T>
[[nodiscard]] merged_chan<T> merge(std::vector<recv_chan<T>> sources) {
    return merged_chan<T>(std::move(sources));
}

/// Values of a channel in groups; see batch(). Movable.
template <typename T>
class batched_chan {
public:
    using value_type = std::vector<T>;

    batched_chan(recv_chan<T> source, std::size_t most, int64_t delay_ns)
        : source_(std::move(source)), most_(most), delay_ns_(delay_ns) {
        if (most == 0) throw std::invalid_argument("weft: batch: a batch must hold at least one value");
    }

    batched_chan(batched_chan&&) noexcept = default;
    batched_chan& operator=(batched_chan&&) noexcept = default;
    ~batched_chan() = default;

    /// Waits for the next batch. nullopt: the channel is closed and drained. Throws weft::cancelled
    /// or weft::timed_out; what has come by then is in the next batch, whose delay still counts
    /// from its first value. Throws std::bad_alloc, with nothing lost.
    [[nodiscard]] std::optional<std::vector<T>> recv() {
        while (collected_.size() < most_) {
            make_room();
            if (collected_.empty()) {
                std::optional<T> first = source_.recv();
                if (!first.has_value()) return std::nullopt;
                collected_.push_back(std::move(*first));
                const int64_t now = detail::now_ns();
                deadline_ns_ = delay_ns_ >= detail::never - now ? detail::never : now + delay_ns_;
            } else if (!add_another()) {
                break;
            }
        }
        return std::exchange(collected_, {});
    }

    /// How many values wait for the next batch: not 0 only after an interrupted recv().
    [[nodiscard]] std::size_t collected() const noexcept { return collected_.size(); }

    /// An input range of batches, until the channel is closed and drained.
    [[nodiscard]] auto begin() noexcept { return detail::pull_iterator<batched_chan, std::vector<T>>(this); }

    [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

private:
    // Before a receive, so that the value that comes has a place.
    void make_room() {
        if (collected_.size() < collected_.capacity()) return;
        collected_.reserve((std::min)(most_, (std::max)(std::size_t{16}, 2 * collected_.capacity())));
    }

    // False: time is up, or the channel is closed and drained.
    bool add_another() {
        recv_result<T> next = source_.try_recv();
        if (next.status == chan_status::would_block && deadline_ns_ > detail::now_ns())
            next = source_.recv_until(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline_ns_)));
        if (!next) return false;
        collected_.push_back(std::move(*next));
        return true;
    }

    recv_chan<T> source_;
    std::size_t most_;
    int64_t delay_ns_;
    int64_t deadline_ns_ = 0;  // of the batch that is collected
    std::vector<T> collected_;
};

/// The values of source in batches of `most`, or fewer if the channel is closed, or max_delay has
/// passed since the first value of the batch was received. What is there already is taken even if
/// max_delay is zero. Throws std::invalid_argument if most is 0. Starts nothing.
template <typename T, typename Rep, typename Period>
[[nodiscard]] batched_chan<T> batch(recv_chan<T> source,
                                    std::size_t most,
                                    std::chrono::duration<Rep, Period> max_delay) {
    return batched_chan<T>(std::move(source), most, detail::saturated_ns(max_delay));
}

template <typename T, typename Rep, typename Period>
[[nodiscard]] batched_chan<T> batch(chan<T> source, std::size_t most, std::chrono::duration<Rep, Period> max_delay) {
    return batched_chan<T>(std::move(source), most, detail::saturated_ns(max_delay));
}

/// Sends value without waiting: while the buffer of to is full, its oldest value is discarded. So a
/// channel of capacity 1 keeps the newest value, and one of capacity n the newest n; readers
/// receive and select as usual. Returns how many values were discarded. Throws channel_closed if
/// the channel is closed, std::invalid_argument if it is nil or has no buffer. Any thread.
template <typename T>
std::size_t send_latest(const chan<T>& to, std::type_identity_t<T> value) {
    if (to.capacity() == 0)
        throw std::invalid_argument("weft: send_latest: the channel has no buffer; make it with a capacity of 1");
    for (std::size_t discarded = 0;;) {
        const chan_status sent = to.try_send(std::move(value));  // moved from only if it is sent
        if (sent == chan_status::ok) return discarded;
        if (sent == chan_status::closed) throw channel_closed();
        if (to.try_recv()) ++discarded;
    }
}

/// Copies each value of source to n channels, which it makes with this capacity, and closes them
/// when source is closed and drained. A green thread of s does that. It waits for the slowest
/// reader; a reader that stops receiving holds up all, until s is cancelled or ends by an
/// exception. Then the channels are closed, too. For readers that share the values, so that each
/// goes to one of them, no adaptor is needed: let all receive from source. Throws
/// std::bad_alloc, and as task_scope::go.
template <typename T>
[[nodiscard]] std::vector<recv_chan<T>> fan_out(task_scope& s,
                                                recv_chan<T> source,
                                                std::size_t n,
                                                std::size_t capacity = 0) {
    static_assert(std::is_copy_constructible_v<T>, "weft::fan_out: T must be copyable; send std::shared_ptr<const T>");
    std::vector<chan<T>> copies;
    copies.reserve(n);
    for (std::size_t i = 0; i < n; ++i) copies.emplace_back(capacity);
    std::vector<recv_chan<T>> readers(copies.begin(), copies.end());
    s.go({.name = "fan_out"}, [from = std::move(source), to = std::move(copies)] {
        struct close_all {
            const std::vector<chan<T>>& all;

            ~close_all() {
                for (const chan<T>& c : all) c.close();
            }
        } const at_end{to};

        while (std::optional<T> value = from.recv()) {
            for (const chan<T>& c : to) c.send(*value);
        }
    });
    return readers;
}

template <typename T>
[[nodiscard]] std::vector<recv_chan<T>> fan_out(task_scope& s,
                                                chan<T> source,
                                                std::size_t n,
                                                std::size_t capacity = 0) {
    return fan_out(s, recv_chan<T>(std::move(source)), n, capacity);
}

}  // namespace weft
