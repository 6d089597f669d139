// connection.h: one connection to a Redis server.
//
// A stream of weft does the waiting, and reply_parser the protocol. No OS thread waits.
//
// Invariant: I1. outstanding_ is the number of replies still to come. A connection with outstanding
//                replies, or with a reply that was not asked for, must not be used again: its next
//                command would take them for its own. The pool closes it (is_reusable()), and a
//                session that goes on with it gets an error (check_usable()).
//
// A pipeline is sent in pieces, each at most `window` commands ahead of the replies. So neither
// side waits for ever for the other one to read, and a pipeline of a million commands does not fill
// the memory of the server with replies.
//
// Threads: one green thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <weft/redis/client.h>

#include "redis/reply_parser.h"

namespace weft::redis::detail {

using time_point = std::chrono::steady_clock::time_point;

// The time after that duration; the end of time if there is no limit.
[[nodiscard]] time_point time_after(std::chrono::nanoseconds d);

// Whether an error of the server says that it cannot execute commands at present.
[[nodiscard]] bool is_transient(std::string_view error) noexcept;

class connection {
public:
    // Connects and logs in. Throws std::system_error with an errc; weft::cancelled and
    // weft::timed_out, like all functions here that wait.
    explicit connection(const client_options& how);

    // Sends a command and returns its reply, which may be an error. Throws std::system_error:
    // connection_lost if an earlier command failed or was interrupted (I1).
    reply call(const command& c, std::chrono::nanoseconds reply_time);

    // Sends all commands, and returns the replies in the same order.
    std::vector<reply> call_all(const std::vector<command>& commands, std::chrono::nanoseconds reply_time);

    // ---- The single steps, for subscriptions, where replies arrive without a request.

    void send(const command& c, time_point deadline);

    // Waits for the next reply. Returns nullopt if none has arrived by the deadline.
    [[nodiscard]] std::optional<reply> receive_until(time_point deadline);

    // ---- The state.

    // A fresh connection would answer differently: after WATCH, MULTI, SELECT …. The pool closes
    // it.
    void taint() noexcept { tainted_ = true; }

    // The same, until a transaction has ended.
    void set_watching(bool on) noexcept { watching_ = on; }

    // Whether the server has accepted MULTI on this connection.
    [[nodiscard]] bool accepts_multi() const noexcept { return accepts_multi_; }

    void set_accepts_multi() noexcept { accepts_multi_ = true; }

    [[nodiscard]] bool is_reusable() const noexcept { return is_in_step() && !tainted_ && !watching_; }

    // The same for an unused connection: the server has not closed it.
    [[nodiscard]] bool is_still_there() const noexcept;

private:
    static constexpr std::size_t window = 256;
    static constexpr std::size_t window_bytes = 256 * 1024;

    // Whether the next reply will be that of the next command: I1.
    [[nodiscard]] bool is_in_step() const noexcept { return !broken_ && outstanding_ == 0 && parser_.is_empty(); }

    void check_usable();
    void log_in(const client_options& how);
    void write_out(time_point deadline);
    [[nodiscard]] bool read_some(time_point deadline);
    [[noreturn]] void fail(errc why, const std::string& detail);

    std::unique_ptr<transport> transport_;
    std::string address_;  // for messages
    reply_parser parser_;
    std::string out_;
    std::size_t outstanding_ = 0;
    bool broken_ = false;
    bool tainted_ = false;
    bool watching_ = false;
    bool accepts_multi_ = false;
    bool greeted_ = false;  // a first reply has come
};

}  // namespace weft::redis::detail
