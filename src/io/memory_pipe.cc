// memory_pipe.cc: see weft/io/memory_pipe.h.
//
// A ring of bytes under a mutex, and two condition variables. A thread that leaves something for
// another one of its kind passes the wake-up on, so each change wakes one thread and none is
// missed.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include <weft/condition_variable.h>
#include <weft/error.h>
#include <weft/io/memory_pipe.h>
#include <weft/mutex.h>

namespace weft::io {

namespace detail {

class memory_pipe_state {
public:
    explicit memory_pipe_state(std::size_t capacity) : capacity_(capacity), bytes_(new char[capacity]) {}

    // Both throw only weft::cancelled and weft::timed_out, and report everything else in ec.

    std::size_t read_some(mutable_buffer b, std::error_code& ec) {
        std::unique_lock hold(lock_);
        if (b.size() != 0) readable_.wait(hold, [&] { return size_ != 0 || writer_closed_ || reader_closed_; });
        if (reader_closed_) {
            ec = make_error_code(errc::closed);
            return 0;
        }
        if (b.size() == 0) return 0;
        if (size_ == 0) {
            ec = failure_;
            return 0;
        }
        const std::size_t n = take(static_cast<char*>(b.data()), std::min(b.size(), size_));
        writable_.notify_one();
        if (size_ != 0) readable_.notify_one();
        return n;
    }

    std::size_t write_some(const_buffer b, std::error_code& ec) {
        std::unique_lock hold(lock_);
        if (b.size() != 0) writable_.wait(hold, [&] { return size_ < capacity_ || writer_closed_ || reader_closed_; });
        if (writer_closed_) {
            ec = make_error_code(errc::closed);
            return 0;
        }
        if (reader_closed_) {
            ec = std::make_error_code(std::errc::broken_pipe);
            return 0;
        }
        if (b.size() == 0) return 0;
        const std::size_t n = put(static_cast<const char*>(b.data()), std::min(b.size(), capacity_ - size_));
        readable_.notify_one();
        if (size_ < capacity_) writable_.notify_one();
        return n;
    }

    void close_reader() noexcept {
        const std::lock_guard hold(lock_);
        reader_closed_ = true;
        size_ = 0;
        wake_all();
    }

    // why: what the reader gets instead of the end; none if it is clear.
    void close_writer(std::error_code why) noexcept {
        const std::lock_guard hold(lock_);
        if (writer_closed_) return;
        writer_closed_ = true;
        failure_ = why;
        wake_all();
    }

private:
    void wake_all() noexcept {
        readable_.notify_all();
        writable_.notify_all();
    }

    // Moves the oldest n bytes out. Requires: n <= size_.
    std::size_t take(char* into, std::size_t n) noexcept {
        const std::size_t before_end = std::min(n, capacity_ - first_);
        std::memcpy(into, bytes_.get() + first_, before_end);
        std::memcpy(into + before_end, bytes_.get(), n - before_end);
        first_ = (first_ + n) % capacity_;
        size_ -= n;
        return n;
    }

    // Appends n bytes. Requires: n <= capacity_ - size_.
    std::size_t put(const char* from, std::size_t n) noexcept {
        const std::size_t last = (first_ + size_) % capacity_;
        const std::size_t before_end = std::min(n, capacity_ - last);
        std::memcpy(bytes_.get() + last, from, before_end);
        std::memcpy(bytes_.get(), from + before_end, n - before_end);
        size_ += n;
        return n;
    }

    weft::mutex lock_;
    weft::condition_variable readable_;  // there is a byte, or an end is closed
    weft::condition_variable writable_;  // there is room, or an end is closed

    const std::size_t capacity_;
    const std::unique_ptr<char[]> bytes_;
    // Guarded by lock_.
    std::size_t first_ = 0;  // index of the oldest byte
    std::size_t size_ = 0;
    bool reader_closed_ = false;
    bool writer_closed_ = false;
    std::error_code failure_;
};

namespace {

// Calls f(ec) and returns its result. An end that was moved from, or made without a pipe, is
// closed.
template <typename F>
std::size_t reporting(const memory_pipe_state* state, std::error_code& ec, F f) {
    ec.clear();
    if (state == nullptr) {
        ec = make_error_code(errc::closed);
        return 0;
    }
    try {
        return f(ec);
    } catch (const cancelled&) {
        ec = make_error_code(errc::cancelled);
    } catch (const timed_out&) {
        ec = make_error_code(errc::timed_out);
    }
    return 0;
}

template <typename F>
std::size_t throwing(const memory_pipe_state* state, const char* what, F f) {
    std::error_code ec = state == nullptr ? make_error_code(errc::closed) : std::error_code();
    const std::size_t n = state == nullptr ? 0 : f(ec);
    if (ec) throw std::system_error(ec, what);
    return n;
}

}  // namespace
}  // namespace detail

memory_pipe_reader& memory_pipe_reader::operator=(memory_pipe_reader&& other) noexcept {
    memory_pipe_reader old(std::move(other));
    std::swap(state_, old.state_);
    return *this;
}

std::size_t memory_pipe_reader::read_some(mutable_buffer b) {
    return detail::throwing(state_.get(), "weft: memory_pipe_reader::read_some",
                            [&](std::error_code& ec) { return state_->read_some(b, ec); });
}

std::size_t memory_pipe_reader::read_some(mutable_buffer b, std::error_code& ec) {
    return detail::reporting(state_.get(), ec, [&](std::error_code& why) { return state_->read_some(b, why); });
}

void memory_pipe_reader::close() noexcept {
    if (state_ != nullptr) state_->close_reader();
}

memory_pipe_writer& memory_pipe_writer::operator=(memory_pipe_writer&& other) noexcept {
    memory_pipe_writer old(std::move(other));
    std::swap(state_, old.state_);
    return *this;
}

std::size_t memory_pipe_writer::write_some(const_buffer b) {
    return detail::throwing(state_.get(), "weft: memory_pipe_writer::write_some",
                            [&](std::error_code& ec) { return state_->write_some(b, ec); });
}

std::size_t memory_pipe_writer::write_some(const_buffer b, std::error_code& ec) {
    return detail::reporting(state_.get(), ec, [&](std::error_code& why) { return state_->write_some(b, why); });
}

std::size_t memory_pipe_writer::write_all(const_buffer b) {
    for (std::size_t written = 0; written < b.size();)
        written += write_some({static_cast<const char*>(b.data()) + written, b.size() - written});
    return b.size();
}

std::size_t memory_pipe_writer::write_all(const_buffer b, std::error_code& ec) {
    ec.clear();
    std::size_t written = 0;
    while (written < b.size() && !ec)
        written += write_some({static_cast<const char*>(b.data()) + written, b.size() - written}, ec);
    return written;
}

void memory_pipe_writer::close() noexcept {
    if (state_ != nullptr) state_->close_writer({});
}

void memory_pipe_writer::fail(std::error_code why) noexcept {
    if (state_ != nullptr) state_->close_writer(why);
}

memory_pipe_ends make_memory_pipe(std::size_t capacity) {
    auto state = std::make_shared<detail::memory_pipe_state>(std::max(capacity, std::size_t{1}));
    return {memory_pipe_reader(state), memory_pipe_writer(state)};
}

}  // namespace weft::io
