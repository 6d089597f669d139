#include "connection.h"

#include <algorithm>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include <weft/cancel.h>
#include <weft/error.h>
#include <weft/net/resolve.h>
#include <weft/net/unix.h>

namespace redis_client {

namespace {

using std::chrono::steady_clock;
using weft::fd_events;

constexpr steady_clock::time_point never = steady_clock::time_point::max();

// How many commands of a pipeline are in hiredis' buffer at a time. Each write moves what the
// socket has not taken to the front of the buffer.
constexpr std::size_t appended_at_a_time = 256;

// Returns a connected, non-blocking socket, which the caller owns.
int connect(const std::string& address) {
    if (address.find('/') != std::string::npos) return weft::net::unix_stream::connect(address).release();
    weft::net::tcp_stream s = weft::net::dial(address);
    s.set_keep_alive(true);
    return s.release();
}

// Like connect(), with a time limit.
int connect_within(const server& at) {
    try {
        return weft::with_timeout(at.connect_time, [&] { return connect(at.address); });
    } catch (const std::exception& e) {  // a system_error, or an invalid_argument: a path that is too long
        throw connection_error("cannot connect to " + at.address + ": " + e.what());
    } catch (const weft::timed_out&) {
        weft::throw_if_cancelled();  // the deadline may be that of a caller
        throw connection_error("cannot connect to " + at.address +
                               ": it does not answer in time; --connect-time sets the limit");
    }
}

redisContext* context_of(int fd) {
    redisContext* const c = redisConnectFd(fd);  // only wraps the descriptor
    if (c == nullptr) throw std::bad_alloc();
    c->flags &= ~REDIS_BLOCK;
    return c;
}

}  // namespace

connection::connection(const server& at) : context_(context_of(connect_within(at))), socket_(context_->fd) {
    if (!at.password.empty()) log_in(at.password);
}

void connection::log_in(const std::string& password) {
    const reply r = call({"AUTH", password});
    if (r.is_error()) throw connection_error("the server has refused the connection: " + std::string(r.text()));
}

reply connection::call(const command& c) {
    append(c);
    return std::move(*receive_until(never));
}

std::vector<reply> connection::call_all(std::span<const command> commands) {
    std::vector<reply> replies;
    replies.reserve(commands.size());
    std::size_t appended = 0;
    while (replies.size() < commands.size()) {
        if (!has_unsent_) {
            const std::size_t end = std::min(commands.size(), appended + appended_at_a_time);
            for (; appended < end; ++appended) append(commands[appended]);
        }
        while (std::optional<reply> r = take_parsed()) replies.push_back(std::move(*r));
        if (replies.size() < commands.size()) exchange(never);
    }
    return replies;
}

void connection::append(const command& c) {
    std::vector<const char*> words;
    std::vector<std::size_t> sizes;
    for (const std::string& word : c) {
        words.push_back(word.data());
        sizes.push_back(word.size());
    }
    if (redisAppendCommandArgv(context_.get(), static_cast<int>(c.size()), words.data(), sizes.data()) != REDIS_OK) {
        fail();
    }
    ++outstanding_;
    has_unsent_ = true;
}

std::optional<reply> connection::receive_until(steady_clock::time_point deadline) {
    for (;;) {
        if (std::optional<reply> r = take_parsed()) return r;
        if (!exchange(deadline)) return std::nullopt;
    }
}

std::optional<reply> connection::take_parsed() {
    void* parsed = nullptr;
    if (redisGetReplyFromReader(context_.get(), &parsed) != REDIS_OK) fail();
    if (parsed == nullptr) return std::nullopt;
    if (outstanding_ != 0) --outstanding_;  // otherwise it is a message of a subscription
    return reply(static_cast<redisReply*>(parsed));
}

// Sends pending data and reads what has arrived; waits until one of these is possible. It needs
// both, because a server that cannot send its replies stops reading commands. Returns false if
// neither was possible by the deadline.
bool connection::exchange(steady_clock::time_point deadline) {
    if (has_unsent_) {
        int all_sent = 0;
        if (redisBufferWrite(context_.get(), &all_sent) != REDIS_OK) fail();
        has_unsent_ = all_sent == 0;
    }
    const fd_events wanted = has_unsent_ ? fd_events::either : fd_events::readable;
    const fd_events possible = socket_.wait_until(wanted, deadline);
    if ((possible & fd_events::readable) != fd_events::none && redisBufferRead(context_.get()) != REDIS_OK) fail();
    return possible != fd_events::none;
}

bool connection::is_still_there() const {
    // No reply is expected: if the socket is readable, that is the end of the connection or
    // unusable data.
    return socket_.wait_for(fd_events::readable, std::chrono::seconds(0)) == fd_events::none;
}

void connection::fail() const { throw connection_error(std::string("the connection is lost: ") + context_->errstr); }

}  // namespace redis_client
