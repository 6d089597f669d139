// talk.h: conversations over each kind of stream. Both sides know every byte, and conversations end
// in every possible way.
//
// The client announces the conversation: a key, which determines all bytes, how many go each way,
// and how it ends. So both sides know which ends are expected. A clean end must be clean on both
// sides. A conversation that is cut must be right up to the cut.
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include <weft/weft.h>

#include "soak/books.h"
#include "support/connections.h"
#include "support/random.h"

namespace weft::test {

enum class ending : uint8_t {
    both_at_once,   // both write and read at the same time, and end their streams
    in_turn,        // the client sends everything and ends its stream, and then the server does
    client_closes,  // in the middle
    client_resets,
    server_closes,
    server_resets,
    another_closes,  // another green thread of the client does, while this one reads and writes
    deadline,        // of the client's socket
    timeout,         // around the client
    cancelled,       // with the scope around the client
    count
};

struct conversation {
    uint64_t key;
    uint32_t size_there;
    uint32_t size_back;
    ending how;
    uint8_t damaged;  // a wrong byte is sent, to test the test itself

    [[nodiscard]] static conversation at_random(prng& random);

    [[nodiscard]] bool is_clean() const noexcept { return how == ending::both_at_once || how == ending::in_turn; }
};

static_assert(sizeof(conversation) <= 24);

// Closing the socket sends a reset to the other side; on Unix sockets, an end.
inline void reset_when_closed(int fd) noexcept {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

// One side of one conversation.
template <typename Stream>
class speaker {
public:
    speaker(operation& what, Stream& s, prng random) : what_(what), stream_(s), random_(random) {}

    // Sends the bytes of key, in pieces, and then, if that was agreed on, ends the stream.
    void say(uint64_t key, std::size_t size, bool damaged, std::error_code& ec) {
        for (std::size_t said = 0; said < size && !ec;) {
            const std::size_t piece = std::min(size - said, a_piece(random_));
            std::string bytes = secret_bytes(key, said, piece);
            if (damaged && said == 0) bytes[0] = static_cast<char>(~bytes[0]);
            said += send(bytes, ec);
        }
    }

    // Reads the bytes of key until size have come, or no more do. Returns how many.
    std::size_t hear(uint64_t key, std::size_t size, std::error_code& ec) {
        std::size_t heard = 0;
        while (heard < size && !ec) {
            std::string b(std::min(a_piece(listening_), std::size_t{64} * 1024), ' ');
            b.resize(std::min(b.size(), size - heard));
            const std::size_t n = listening_.one_in(4) ? stream_.read(b, ec) : stream_.read_some(b, ec);
            if (!are_secret_bytes(b.data(), n, key, heard)) what_.mistake("bytes that nobody has sent");
            heard += n;
            if (n == 0 && !ec) break;
        }
        return heard;
    }

    // Expects the end of the stream from the peer.
    void hear_the_end(std::error_code& ec) {
        char b[1];
        if (!ec && stream_.read_some(b, ec) != 0) what_.mistake("a byte more than was said");
    }

private:
    // Most pieces are small.
    static std::size_t a_piece(prng& random) {
        return static_cast<std::size_t>(1 + random.below(random.one_in(6) ? 100'000 : 4'000));
    }

    std::size_t send(const std::string& bytes, std::error_code& ec) {
        if (random_.one_in(20)) yield();
        if (random_.one_in(60)) sleep_for(std::chrono::microseconds(random_.below(2000)));
        switch (random_.below(3)) {
            case 0:
                return stream_.write_some(bytes, ec);
            case 1: {
                const std::size_t half = bytes.size() / 2;
                const std::array<net::const_buffer, 3> list{
                    net::const_buffer(bytes.data(), half), net::const_buffer("", 0),
                    net::const_buffer(bytes.data() + half, bytes.size() - half)};
                return stream_.writev_all(list, ec);
            }
            default:
                return stream_.write_all(bytes, ec);
        }
    }

    operation& what_;
    Stream& stream_;
    prng random_;
    prng listening_ = random_.split();
};

// The more specific of the two errors.
[[nodiscard]] inline const std::error_code& first_of(const std::error_code& a, const std::error_code& b) noexcept {
    return a ? a : b;
}

// Sends and receives at the same time, each to its end. Returns how much was received.
template <typename Stream>
std::size_t say_and_hear(speaker<Stream>& me,
                         Stream& s,
                         uint64_t said_key,
                         std::size_t said,
                         uint64_t heard_key,
                         std::size_t heard,
                         bool damaged,
                         std::error_code& ec) {
    std::error_code saying;
    std::size_t got = 0;
    scope([&](task_scope& both) {
        both.go([&] {
            me.say(said_key, said, damaged, saying);
            if (!saying) s.shutdown_send(saying);
        });
        got = me.hear(heard_key, heard, ec);
        if (got == heard) me.hear_the_end(ec);
        // The rest of what the peer writes is not read.
        if (ec) s.close();
    });
    ec = first_of(ec, saying);
    return got;
}

// The client's part, on a stream that has just been connected. was_heard: the server has answered.
template <typename Stream>
void converse(operation& what, Stream& s, const conversation& c, prng random, bool& was_heard, std::error_code& ec) {
    speaker<Stream> me(what, s, random.split());
    if (c.how == ending::deadline)
        s.set_deadline(std::chrono::steady_clock::now() + std::chrono::microseconds(random.below(5000)));
    s.write_all(net::const_buffer(&c, sizeof(c)), ec);
    if (ec) return;
    const bool leaves = c.how == ending::client_closes || c.how == ending::client_resets;
    const std::size_t there = leaves ? c.size_there / 2 : c.size_there;
    std::size_t got = 0;
    if (c.how == ending::in_turn) {
        me.say(c.key, there, c.damaged != 0, ec);
        if (!ec) s.shutdown_send(ec);
        got = me.hear(~c.key, c.size_back, ec);
        if (got == c.size_back) me.hear_the_end(ec);
    } else if (leaves) {
        me.say(c.key, there, false, ec);
        if (random.one_in(2)) got = me.hear(~c.key, c.size_back / 2, ec);
        if (c.how == ending::client_resets) reset_when_closed(s.native_handle());
        s.close();
        char b[1];
        std::error_code why;
        if (s.read_some(b, why) != 0 || why != errc::closed)
            what.mistake("it is closed, and can be read: " + why.message());
    } else if (c.how == ending::another_closes) {
        scope([&](task_scope& all) {
            all.go([&, moment = random.below(3000)] {
                sleep_for(std::chrono::microseconds(moment));
                s.close();
            });
            got = say_and_hear(me, s, c.key, there, ~c.key, c.size_back, false, ec);
        });
    } else {
        got = say_and_hear(me, s, c.key, there, ~c.key, c.size_back, c.damaged != 0, ec);
    }
    was_heard = got != 0;
    if (!ec && !leaves && got < c.size_back) ec = std::make_error_code(std::errc::connection_reset);  // an early end
}

// How a client's part may end.
[[nodiscard]] constexpr outcomes client_ends(ending how) noexcept {
    switch (how) {
        case ending::both_at_once:
        case ending::in_turn:
            return just(outcome::done);
        case ending::client_closes:
        case ending::client_resets:
            return just(outcome::done);
        case ending::server_closes:
        case ending::server_resets:
            return either(outcome::done, outcome::cut);
        case ending::another_closes:
            return either(outcome::done, outcome::closed);
        case ending::deadline:
        case ending::timeout:
            return either(outcome::done, outcome::timed_out);
        case ending::cancelled:
            return either(outcome::done, outcome::cancelled);
        case ending::count:
            break;
    }
    return 0;
}

// The server's part, on a stream that was just accepted.
template <typename Stream>
void answer(books& all, errand as, Stream s, prng random) {
    operation what(all, as);
    speaker<Stream> me(what, s, random.split());
    conversation c{};
    std::error_code ec;
    if (s.read(net::mutable_buffer(&c, sizeof(c)), ec) != sizeof(c)) {
        what.ends(ec ? outcome_of(ec) : outcome::cut, just(outcome::cut),
                  ec);  // the client gave up before it sent anything
        return;
    }
    std::size_t got = 0;
    if (c.how == ending::in_turn) {
        got = me.hear(c.key, c.size_there, ec);
        if (got == c.size_there) me.hear_the_end(ec);
        if (!ec) me.say(~c.key, c.size_back, false, ec);
        if (!ec) s.shutdown_send(ec);
    } else if (c.how == ending::server_closes || c.how == ending::server_resets) {
        got = me.hear(c.key, c.size_there / 2, ec);
        if (!ec) me.say(~c.key, c.size_back / 2, false, ec);
        if (c.how == ending::server_resets) reset_when_closed(s.native_handle());
        s.close();
    } else {
        got = say_and_hear(me, s, ~c.key, c.size_back, c.key, c.size_there, false, ec);
    }
    if (c.is_clean()) {
        if (!ec && got < c.size_there) what.mistake("an end that came too early");
        what.ends(ec, just(outcome::done));
        return;
    }
    what.ends(ec, either(outcome::done, outcome::cut));
}

}  // namespace weft::test
