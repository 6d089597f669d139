// connection.h: moves bytes between an engine, which works in memory, and a socket, which waits.
//
// Problem. One green thread reads while another writes, but libssl's object for the connection does
// not support that. If a lock were held during a whole call, a reader that waits for the peer's
// answer would block the writer that has the question.
//
// Rejected: A lock that is held while waiting, but yielded to the other direction. Its owner is
//           undefined when both wait.
// Rejected: One green thread per connection for all calls. Each read would cost two switches.
// Rejected: Sockets under libssl, in a BIO that parks. libssl's errors are kept per OS thread, and
//           the call could resume on another one.
//
// Protocol. There are three rights, and a lock whose holder waits only for that lock. docs/tls.md
// draws the loops of reads and writes.
//
//   state_           libssl's object, and the memory on both sides of it. Held for one call of
//                    libssl and no system call.
//   reading_         To read from the socket, and hand the data to the engine.
//   writing_         To write to the socket, in the order in which the engine made the data.
//   shaking_hands_   To make the handshake. Earlier reads and writes wait for it.
//
// A read of libssl may make output: alerts, answers to key updates. It is never urgent. The reader
// only *tries* to send it, because the peer may be a single green thread that writes first and
// reads afterwards. If it gets writing_ at once, it sends what the system takes. Otherwise the
// holder of writing_ finds the output: it releases writing_ under state_, when the output is empty,
// and readers ask for writing_ under state_. The rest goes out with the next call in either
// direction.
//
// Invariants: I1. Output leaves in the order in which the engine made it: sending_ before the
//                 engine's output, both by the holder of writing_.
//             I2. If output exists when writing_ is released, the socket did not take it.
//             I3. The holder of state_ waits neither for a socket nor for one of the rights.
// Locks:      shaking_hands_ > reading_, writing_ > state_. A holder of reading_ does not wait for
//             writing_.
// Threads:    any thread.
// See:        docs/tls.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <weft/detail/atomic.h>
#include <weft/mutex.h>
#include <weft/net/stream.h>
#include <weft/semaphore.h>
#include <weft/tls/error.h>

#include "tls/engine.h"

namespace weft::tls::detail {

class transport : public net::stream {
public:
    explicit transport(net::stream&& s) noexcept : net::stream(std::move(s)) {}

    // Whether the socket is open and its deadline has not passed, for a call that may find its data
    // in memory.
    [[nodiscard]] bool may_read(std::error_code& ec) const noexcept { return may_begin(handle_.read_deadline(), ec); }

    [[nodiscard]] bool may_write(std::error_code& ec) const noexcept { return may_begin(handle_.write_deadline(), ec); }

    void set_read_deadline_ns(int64_t when) noexcept { handle_.set_read_deadline(when); }

    void set_write_deadline_ns(int64_t when) noexcept { handle_.set_write_deadline(when); }

private:
    [[nodiscard]] bool may_begin(int64_t deadline_ns, std::error_code& ec) const noexcept;
};

class connection {
public:
    connection(net::stream&& over, std::shared_ptr<shared_context> with, std::string_view host);
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    [[nodiscard]] transport& below() noexcept { return transport_; }

    void handshake(std::error_code& ec);

    // Reads at least at_least bytes, unless the end comes first.
    std::size_t read(net::mutable_buffer b, std::size_t at_least, std::error_code& ec);

    // Writes at most at_most bytes. Returns how many the engine has taken.
    std::size_t write(std::span<const net::const_buffer> from, std::size_t at_most, std::error_code& ec);

    void shutdown_send(std::error_code& ec);
    void close() noexcept;

    // Returns look(ssl), called with the lock; before the end of the handshake, a value-initialised
    // result.
    template <typename Look>
    auto agreed(Look look) {
        const state_guard guard(state_);
        using result = decltype(look(engine_.ssl()));
        return established_.load(weft::detail::acquire) ? look(engine_.ssl()) : result();  // A1
    }

    [[nodiscard]] std::string failure_text();

private:
    class state_guard {
    public:
        explicit state_guard(mutex& m) noexcept : m_(m) { m_.lock(); }

        ~state_guard() { m_.unlock(); }

        state_guard(const state_guard&) = delete;
        state_guard& operator=(const state_guard&) = delete;

    private:
        mutex& m_;
    };

    // Holds reading_ or shaking_hands_, if it could be acquired.
    class right {
    public:
        right(binary_semaphore& of, std::error_code& ec) noexcept : of_(take(of, ec) ? &of : nullptr) {}

        ~right() {
            if (of_ != nullptr) of_->release();
        }

        right(const right&) = delete;
        right& operator=(const right&) = delete;

        explicit operator bool() const noexcept { return of_ != nullptr; }

    private:
        binary_semaphore* const of_;
    };

    // The same for writing_, which it releases as the protocol requires.
    class right_to_write {
    public:
        right_to_write(connection& of, std::error_code& ec) noexcept : of_(take(of.writing_, ec) ? &of : nullptr) {}

        ~right_to_write() {
            if (of_ != nullptr) of_->give_up_writing();
        }

        right_to_write(const right_to_write&) = delete;
        right_to_write& operator=(const right_to_write&) = delete;

        explicit operator bool() const noexcept { return of_ != nullptr; }

    private:
        connection* const of_;
    };

    // Returns false if the caller was interrupted.
    [[nodiscard]] static bool take(binary_semaphore& right, std::error_code& ec) noexcept;
    void give_up_writing() noexcept;

    // Each returns whether to continue; if not, ec says why.
    [[nodiscard]] bool established(std::error_code& ec);
    [[nodiscard]] bool shake_hands(std::error_code& ec);
    [[nodiscard]] bool fill(std::error_code& ec);
    [[nodiscard]] bool flush(std::error_code& ec);
    [[nodiscard]] bool flush_in_handshake(std::error_code& ec);
    [[nodiscard]] bool hear_last_words(std::error_code why);
    [[nodiscard]] bool say_goodbye(std::error_code& ec);

    [[nodiscard]] bool try_to_flush() noexcept;
    [[nodiscard]] bool take_output() noexcept;
    [[nodiscard]] bool claim_output() noexcept;
    [[nodiscard]] engine::step read_record(net::mutable_buffer b, std::error_code& ec);
    [[nodiscard]] std::size_t encrypt(net::const_buffer b, std::error_code& ec);

    engine engine_;         // guarded by state_
    bool no_more_ = false;  // guarded by state_: we have sent close_notify
    mutex state_;

    transport transport_;

    binary_semaphore reading_{1};
    std::vector<std::byte> arriving_;  // guarded by reading_, or shaking_hands_ before: input of the engine
    std::size_t arrived_ = 0;          // guarded by the same: size of the last read

    binary_semaphore writing_{1};
    std::vector<std::byte> sending_;  // guarded by writing_
    std::size_t sent_ = 0;            // guarded by writing_: how much of sending_ is sent

    binary_semaphore shaking_hands_{1};
    weft::detail::atomic<bool> established_{false};  // R1 (the handshake is over) pairs with A1 (a call begins)
};

}  // namespace weft::tls::detail
