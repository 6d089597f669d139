// connection.cc: see connection.h.
#include "tls/connection.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <weft/cancel.h>
#include <weft/error.h>

namespace weft::tls::detail {

namespace {

using outcome = engine::outcome;

// Sizes of reads: small at first, a whole record once that much arrives.
constexpr std::size_t arrives_first = 2048;
constexpr std::size_t arrives_most = SSL3_RT_MAX_PACKET_SIZE;

constexpr std::size_t batch = 4 * engine::record_max;  // encrypted before it is sent
constexpr std::size_t kept = 4096;                     // buffers up to this size are reused

// Reached only if the peer sends without reading.
constexpr std::size_t unheard_most = 4 * batch;

// Combines small pieces, so that they share a record.
class gathered {
public:
    explicit gathered(std::span<const net::const_buffer> all) noexcept : all_(all) {
        for (const net::const_buffer& b : all) total_ += b.size();
    }

    [[nodiscard]] std::size_t total() const noexcept { return total_; }

    // Returns the next 1 to most bytes. Throws std::bad_alloc. Requires: bytes are left.
    [[nodiscard]] net::const_buffer next(std::size_t most) {
        most = std::min(most, engine::record_max);
        while (offset_ == all_.front().size()) skip_piece();
        const net::const_buffer first(at(), std::min(most, left_in_piece()));
        if (first.size() == most || all_.size() == 1) return take(first);
        together_.clear();
        while (together_.size() < most && !all_.empty()) {
            const net::const_buffer b = take({at(), std::min(most - together_.size(), left_in_piece())});
            const auto* bytes = static_cast<const std::byte*>(b.data());
            together_.insert(together_.end(), bytes, bytes + b.size());
            if (left_in_piece() == 0) skip_piece();
        }
        return together_;
    }

private:
    [[nodiscard]] const std::byte* at() const noexcept {
        return static_cast<const std::byte*>(all_.front().data()) + offset_;
    }

    [[nodiscard]] std::size_t left_in_piece() const noexcept { return all_.front().size() - offset_; }

    net::const_buffer take(net::const_buffer b) noexcept {
        offset_ += b.size();
        return b;
    }

    void skip_piece() noexcept {
        all_ = all_.subspan(1);
        offset_ = 0;
    }

    std::span<const net::const_buffer> all_;
    std::size_t offset_ = 0;
    std::size_t total_ = 0;
    std::vector<std::byte> together_;
};

}  // namespace

bool transport::may_begin(int64_t deadline_ns, std::error_code& ec) const noexcept {
    ec.clear();
    if (!is_open()) {
        ec = weft::errc::closed;
    } else if (deadline_ns != weft::detail::never && weft::detail::now_ns() >= deadline_ns) {
        ec = weft::errc::timed_out;
    }
    return !ec;
}

connection::connection(net::stream&& over, std::shared_ptr<shared_context> with, std::string_view host)
    : engine_(std::move(with), host), transport_(std::move(over)) {}

bool connection::take(binary_semaphore& right, std::error_code& ec) noexcept {
    ec.clear();
    try {
        right.acquire();
    } catch (const cancelled&) {
        ec = weft::errc::cancelled;
    } catch (const timed_out&) {
        ec = weft::errc::timed_out;
    }
    return !ec;
}

// ---- Sending. By the holder of writing_.

// Moves the engine's output to sending_, all of which must have been sent. Returns false if there
// is no output.
bool connection::take_output() noexcept {
    sending_.clear();
    sent_ = 0;
    if (sending_.capacity() > kept) std::vector<std::byte>().swap(sending_);
    const state_guard guard(state_);
    sending_.swap(engine_.memory().output());
    return !sending_.empty();
}

bool connection::flush(std::error_code& ec) {
    do {
        while (sent_ < sending_.size()) {
            sent_ += transport_.write_some({sending_.data() + sent_, sending_.size() - sent_}, ec);
            if (ec) return false;
        }
    } while (take_output());
    return true;
}

// The zero timeout ends a call that would wait.
bool connection::try_to_flush() noexcept {
    std::error_code ignored;
    return with_timeout(std::chrono::nanoseconds::zero(), [&] { return flush(ignored); });
}

// Requires state_. Returns whether the caller must try to send output.
bool connection::claim_output() noexcept { return !engine_.memory().output().empty() && writing_.try_acquire(); }

void connection::give_up_writing() noexcept {
    for (bool can_go_on = true;; can_go_on = try_to_flush()) {
        const state_guard guard(state_);
        if (can_go_on && !engine_.memory().output().empty()) continue;
        writing_.release();  // I2
        return;
    }
}

// ---- The handshake.

bool connection::established(std::error_code& ec) {
    ec.clear();
    return established_.load(weft::detail::acquire) || shake_hands(ec);  // A1
}

bool connection::flush_in_handshake(std::error_code& ec) {
    const right_to_write mine(*this, ec);
    return mine && flush(ec);
}

// The peer has gone; its last words matter more. Returns false if there is no more input.
bool connection::hear_last_words(std::error_code why) {
    if (why != std::errc::broken_pipe && why != std::errc::connection_reset) return false;
    {
        const state_guard guard(state_);
        if (!engine_.memory().consumed()) return false;
    }
    std::error_code ignored;
    return fill(ignored);
}

bool connection::shake_hands(std::error_code& ec) {
    const right mine(shaking_hands_, ec);
    if (!mine) return false;
    while (!established_.load(weft::detail::acquire)) {  // A1: another thread may have made it
        ec.clear();
        engine::step s;
        bool must_try = false;
        {
            const state_guard guard(state_);
            s = engine_.handshake();
            if (s.what == outcome::failed) {
                ec = engine_.failed().code;
                must_try = claim_output();  // the alert with the reason
            }
        }
        if (must_try) give_up_writing();
        if (s.what == outcome::ended) ec = errc::ended_in_handshake;
        if (ec) return false;
        if (!flush_in_handshake(ec)) {
            if (!hear_last_words(ec)) return false;
            continue;
        }
        if (s.what == outcome::done) {
            established_.store(true, weft::detail::release);  // R1
        } else if (!fill(ec)) {
            return false;
        }
    }
    return true;
}

void connection::handshake(std::error_code& ec) { static_cast<void>(established(ec)); }

// ---- Reading.

// Requires reading_, or shaking_hands_ before; and that the engine has consumed its input.
bool connection::fill(std::error_code& ec) {
    if (arriving_.empty()) {
        arriving_.resize(arrives_first);
    } else if (arrived_ == arriving_.size() && arrived_ < arrives_most) {
        arriving_.resize(arrives_most);
    }
    const std::size_t n = arrived_ = transport_.read_some(arriving_, ec);
    if (!ec && n == 0) {
        // relaxed: a reader has seen it set; the thread in the handshake sets it
        const bool was_there = established_.load(weft::detail::relaxed);
        ec = was_there ? errc::truncated : errc::ended_in_handshake;
    }
    if (ec) return false;
    const state_guard guard(state_);
    engine_.memory().arrived({arriving_.data(), n});
    return true;
}

engine::step connection::read_record(net::mutable_buffer b, std::error_code& ec) {
    for (;;) {
        engine::step s;
        bool must_try = false;
        {
            const state_guard guard(state_);
            s = engine_.read(b);
            if (s.what == outcome::failed) ec = engine_.failed().code;
            if (engine_.memory().output().size() > unheard_most) ec = errc::protocol_error;
            must_try = claim_output();
        }
        if (must_try) give_up_writing();
        if (ec || s.what != outcome::wants_input || !fill(ec)) return s;
    }
}

std::size_t connection::read(net::mutable_buffer b, std::size_t at_least, std::error_code& ec) {
    ec.clear();
    if (b.size() == 0 || !established(ec)) return 0;
    const right mine(reading_, ec);
    if (!mine) return 0;
    auto* bytes = static_cast<std::byte*>(b.data());
    std::size_t done = 0;
    while (done < at_least && transport_.may_read(ec)) {
        const engine::step s = read_record({bytes + done, b.size() - done}, ec);
        done += s.count;
        if (ec || s.what == outcome::ended) break;
    }
    return done;
}

// ---- Writing.

std::size_t connection::encrypt(net::const_buffer b, std::error_code& ec) {
    const state_guard guard(state_);
    if (no_more_) {
        ec = std::make_error_code(std::errc::broken_pipe);
        return 0;
    }
    const engine::step s = engine_.write(b);
    // The engine writes to memory, so it never waits and writes all.
    if (s.what != outcome::done || s.count != b.size())
        ec = s.what == outcome::failed ? engine_.failed().code : errc::protocol_error;
    return s.count;
}

std::size_t connection::write(std::span<const net::const_buffer> from, std::size_t at_most, std::error_code& ec) {
    ec.clear();
    gathered all(from);
    const std::size_t goal = std::min(all.total(), at_most);
    if (goal == 0 || !established(ec)) return 0;
    const right_to_write mine(*this, ec);
    if (!mine || !transport_.may_write(ec)) return 0;
    std::size_t done = 0;
    while (flush(ec) && done < goal) {
        const std::size_t until = std::min(goal, done + batch);
        while (done < until && !ec) done += encrypt(all.next(until - done), ec);
        if (ec) break;
    }
    // What was encrypted counts as written. A caller that writes piece by piece learns of an error
    // by its next call, and must not repeat this one.
    if (done != 0 && at_most == engine::record_max) ec.clear();
    return done;
}

// ---- Closing.

bool connection::say_goodbye(std::error_code& ec) {
    if (!transport_.may_write(ec) || !flush(ec)) return false;
    {
        const state_guard guard(state_);
        if (!std::exchange(no_more_, true)) engine_.say_goodbye();
    }
    return flush(ec);
}

void connection::shutdown_send(std::error_code& ec) {
    if (!established(ec)) return;
    const right_to_write mine(*this, ec);
    if (mine) static_cast<void>(say_goodbye(ec));
}

void connection::close() noexcept {
    bool may_speak = false;
    {
        const state_guard guard(state_);
        may_speak = established_.load(weft::detail::acquire) && !engine_.failed().code && !no_more_ &&  // A1
                    writing_.try_acquire();
        if (may_speak) {
            no_more_ = true;
            engine_.say_goodbye();
        }
    }
    if (may_speak) give_up_writing();
    transport_.close();
}

std::string connection::failure_text() {
    const state_guard guard(state_);
    return engine_.failed().text;
}

}  // namespace weft::tls::detail
