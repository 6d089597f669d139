// select_set.h: a reusable select whose cases are only known at run time.
//
//     weft::select_set set;
//     for (auto& c : inputs) set.add_recv(c, [&](std::optional<line> l) { … });
//     while (running) set.wait();
//
// select.h applies. A case stays until it is removed. A receive on a closed channel is ready each
// time, so remove it. Cases may be added and removed between waits, and in a function that wait()
// calls.
//
// Only one thread may use it at a time. Adding allocates; waiting does not. wait() is O(cases).
//
// See: docs/select.md
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <weft/detail/require.h>
#include <weft/select.h>
#include <weft/wait_fd.h>

namespace weft {

class select_set {
public:
    select_set() = default;
    select_set(select_set&&) noexcept = default;
    select_set& operator=(select_set&&) noexcept = default;
    select_set(const select_set&) = delete;
    select_set& operator=(const select_set&) = delete;
    ~select_set() = default;

    /// Adds a receive from c and keeps a handle to c; f takes a std::optional<T>. Returns the
    /// case's number, which is constant; numbers of removed cases are reused.
    template <typename T, typename F>
    std::size_t add_recv(chan<T> c, F f) {
        return add(std::make_unique<recv_entry<chan<T>, T, F>>(std::move(c), std::move(f)));
    }

    template <typename T, typename F>
    std::size_t add_recv(recv_chan<T> c, F f) {
        return add(std::make_unique<recv_entry<recv_chan<T>, T, F>>(std::move(c), std::move(f)));
    }

    /// Adds a send of value to c. After it has happened, the case is inactive until set_value()
    /// provides another value.
    template <typename T, typename F>
    std::size_t add_send(chan<T> c, std::type_identity_t<T> value, F f) {
        return add(std::make_unique<send_entry<chan<T>, T, F>>(std::move(c), std::move(value), std::move(f)));
    }

    template <typename T, typename F>
    std::size_t add_send(send_chan<T> c, std::type_identity_t<T> value, F f) {
        return add(std::make_unique<send_entry<send_chan<T>, T, F>>(std::move(c), std::move(value), std::move(f)));
    }

    /// Adds a case for a readable or writable fd: see wait_fd.h. fd is watched until the case is
    /// removed; remove the case before fd is closed. Throws what watched_fd does.
    template <typename F>
    std::size_t add_readable(int fd, F f) {
        return add(std::make_unique<fd_entry<F>>(fd, false, std::move(f)));
    }

    template <typename F>
    std::size_t add_writable(int fd, F f) {
        return add(std::make_unique<fd_entry<F>>(fd, true, std::move(f)));
    }

    /// Sets the next value of send case number index. Returns false if that is not a send of T.
    template <typename T>
    bool set_value(std::size_t index, T value) {
        auto* e = index < entries_.size() ? dynamic_cast<send_values<T>*>(entries_[index].get()) : nullptr;
        if (e == nullptr) return false;
        e->value_.emplace(std::move(value));
        return true;
    }

    /// Removes case number index, if it exists.
    void remove(std::size_t index) {
        if (index >= entries_.size() || entries_[index] == nullptr) return;
        entries_[index].reset();
        free_.push_back(index);
    }

    /// The number of cases.
    [[nodiscard]] std::size_t size() const noexcept { return entries_.size() - free_.size(); }

    /// Waits until a case is ready, performs it, calls its function, and returns its number. Waits
    /// for ever if no case can ever happen. Throws as select().
    std::size_t wait() { return *run(detail::never, false); }

    /// As wait(), but returns nullopt after timeout.
    template <typename Rep, typename Period>
    std::optional<std::size_t> wait_for(std::chrono::duration<Rep, Period> timeout) {
        return run(detail::deadline_after(timeout), false);
    }

    template <typename Clock, typename Duration>
    std::optional<std::size_t> wait_until(std::chrono::time_point<Clock, Duration> deadline) {
        return run(detail::deadline_at(deadline), false);
    }

    /// Performs a case if one is ready. Never waits.
    std::optional<std::size_t> try_wait() { return run(detail::never, true); }

private:
    // One case. Its function is kept alive during the call, so that it may remove its own case.
    class entry {
    public:
        entry() = default;
        entry(const entry&) = delete;
        entry& operator=(const entry&) = delete;
        virtual ~entry() = default;
        virtual void prepare(detail::select_request& r, detail::select_case& c) noexcept = 0;
        virtual void call(const detail::select_case& c) = 0;
    };

    template <typename Handle, typename T, typename F>
    class recv_entry final : public entry {
    public:
        recv_entry(Handle c, F f) : from_(std::move(c)), f_(std::make_shared<F>(std::move(f))) {}

        void prepare(detail::select_request& /*r*/, detail::select_case& c) noexcept override {
            value_.reset();
            detail::chan_recv_case<T>::prepare(c, detail::chan_access::state(from_), value_);
        }

        void call(const detail::select_case& /*c*/) override {
            const std::shared_ptr<F> f = f_;
            std::optional<T> value = std::move(value_);
            (*f)(std::move(value));  // may destroy this entry
        }

    private:
        Handle from_;
        std::optional<T> value_;
        std::shared_ptr<F> f_;
    };

    template <typename T>
    class send_values : public entry {
    protected:
        friend class select_set;

        explicit send_values(T value) : value_(std::move(value)) {}

        std::optional<T> value_;
    };

    template <typename Handle, typename T, typename F>
    class send_entry final : public send_values<T> {
    public:
        send_entry(Handle c, T value, F f)
            : send_values<T>(std::move(value)), to_(std::move(c)), f_(std::make_shared<F>(std::move(f))) {}

        void prepare(detail::select_request& /*r*/, detail::select_case& c) noexcept override {
            if (this->value_.has_value()) {
                detail::chan_send_case<T>::prepare(c, detail::chan_access::state(to_), *this->value_);
            }
        }

        void call(const detail::select_case& c) override {
            if (!c.w.ok) throw channel_closed();
            this->value_.reset();
            const std::shared_ptr<F> f = f_;
            (*f)();  // may destroy this entry
        }

    private:
        Handle to_;
        std::shared_ptr<F> f_;
    };

    template <typename F>
    class fd_entry final : public entry {
    public:
        fd_entry(int fd, bool writes, F f)
            : watched_(fd), state_(watched_, writes), f_(std::make_shared<F>(std::move(f))) {}

        void prepare(detail::select_request& r, detail::select_case& c) noexcept override { state_.prepare(r, c); }

        void call(const detail::select_case& /*c*/) override {
            state_.check();
            const std::shared_ptr<F> f = f_;
            (*f)();  // may destroy this entry
        }

    private:
        watched_fd watched_;
        detail::fd_select_state state_;
        std::shared_ptr<F> f_;
    };

    std::size_t add(std::unique_ptr<entry> e) {
        if (!free_.empty()) {
            const std::size_t index = free_.back();
            entries_[index] = std::move(e);
            free_.pop_back();
            return index;
        }
        free_.reserve(entries_.size() + 1);  // so that remove() does not throw
        entries_.push_back(std::move(e));
        return entries_.size() - 1;
    }

    std::optional<std::size_t> run(int64_t deadline_ns, bool at_once) {
        // Rebuilt each time, in memory that is kept.
        raw_.clear();
        raw_.resize(entries_.size());
        locks_.resize(entries_.size());
        constexpr std::size_t beyond = detail::no_case - 1;
        detail::select_request request{.cases = raw_.data(), .count = raw_.size(), .locks = locks_.data()};
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            if (entries_[i] != nullptr) entries_[i]->prepare(request, raw_[i]);
        }
        request.deadline_ns = deadline_ns;
        request.deadline_case = beyond;
        if (at_once) request.otherwise_case = beyond;
        const std::size_t index = detail::select_among(request);
        if (index == beyond) return std::nullopt;
        entries_[index]->call(raw_[index]);
        return index;
    }

    std::vector<std::unique_ptr<entry>> entries_;  // by number; nullptr: removed
    std::vector<std::size_t> free_;                // numbers to reuse
    std::vector<detail::select_case> raw_;
    std::vector<detail::held_lock> locks_;
};

}  // namespace weft
