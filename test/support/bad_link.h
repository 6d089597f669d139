// bad_link.h: two streams connected through a fault_proxy, and checks of what they exchange.
//
// Templates over a kind of stream, which supplies
//
//     using stream, listener
//     static listener listen();
//     static stream accept(listener&, std::error_code&);                      an accepted stream
//     static stream connect(const fault_proxy::place&, std::error_code&);     connected to the proxy
//     static bool is_lost(const std::error_code&)                             possible errors of a reset
//     static bool is_cut(const std::error_code&)                              … and of a connection that ends midway
//     static constexpr bool is_plain                                          the proxy passes on the stream's bytes unchanged
//
// Each stream carries bytes of its own key (secret_bytes). So a byte that is lost, duplicated,
// changed or misdelivered is detected and located.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "connections.h"
#include "fault_proxy.h"
#include "random.h"
#include "system_sockets.h"

namespace weft::test::bad_network {

using net::const_buffer;
using net::mutable_buffer;

// ---- Two streams connected through the proxy.

template <typename Over>
struct two {
    typename Over::stream near;  // the connecting side
    typename Over::stream far;
    std::error_code error;  // of connecting, since a reset may come that early
};

template <typename Over>
class bad_link {
public:
    explicit bad_link(fault_proxy::plans plan)
        : listener_(Over::listen()), proxy(fault_proxy::place_of(listener_), std::move(plan)) {}

    explicit bad_link(const fault_plan& plan) : bad_link([plan](int) { return plan; }) {}

    // Makes the next connection.
    [[nodiscard]] two<Over> connect() {
        two<Over> t;
        t.near = Over::connect(proxy.at(), t.error);
        std::error_code ec;
        t.far = Over::accept(listener_, ec);
        EXPECT_FALSE(ec) << ec.message();
        // Small system buffers: writers soon wait, and partial writes happen.
        const int room = 32 * 1024;  // as make_buffers_small()
        for (const int fd : {t.near.native_handle(), t.far.native_handle()}) {
            EXPECT_TRUE(fd < 0 || sys::set_option(fd, SOL_SOCKET, SO_SNDBUF, room));
        }
        return t;
    }

    // Makes connections 0 to count - 1.
    [[nodiscard]] std::vector<two<Over>> connect(int count) {
        std::vector<two<Over>> all;
        for (int i = 0; i < count; ++i) all.push_back(connect());
        return all;
    }

    [[nodiscard]] typename Over::listener& listener() { return listener_; }

private:
    typename Over::listener listener_;

public:
    fault_proxy proxy;
};

// ---- A sender and a reader.

struct told {
    uint64_t sent = 0;
    std::error_code error;
};

struct heard {
    static constexpr uint64_t nowhere = UINT64_MAX;

    uint64_t read = 0;
    uint64_t wrong_at = nowhere;  // the first wrong byte
    bool ended = false;           // end of stream received
    std::error_code error;

    void look_at(const char* bytes, std::size_t count, uint64_t key) {
        if (wrong_at == nowhere && !are_secret_bytes(bytes, count, key, read)) {
            wrong_at = read;
            while (*bytes++ == secret_byte(key, wrong_at)) ++wrong_at;
        }
        read += count;
    }
};

// Sends that many bytes in pieces of random size, then ends the stream.
template <typename Stream>
told tell(Stream& s, uint64_t key, uint64_t size) {
    told t;
    prng random(key);
    while (t.sent < size && !t.error) {
        const std::size_t n = std::min<uint64_t>(size - t.sent, 1 + random.below(random.one_in(3) ? 20'000 : 200));
        const std::string text = secret_bytes(key, t.sent, n);
        if (random.one_in(2)) {
            t.sent += s.write_all(text, t.error);
        } else {  // in several buffers, the first possibly empty
            const auto first = static_cast<std::size_t>(random.below(static_cast<int>(n)));
            const std::array<const_buffer, 2> both{const_buffer(text.data(), first),
                                                   const_buffer(text.data() + first, n - first)};
            t.sent += s.writev_all(both, t.error);
        }
    }
    if (!t.error) s.shutdown_send(t.error);
    return t;
}

// As read_some(), or into two buffers if the stream has such a call.
template <typename Stream>
std::size_t read_somehow(Stream& s, mutable_buffer b, bool in_two, std::error_code& ec) {
    if constexpr (requires(std::array<mutable_buffer, 2> list) { s.readv_some(list, ec); }) {
        auto* bytes = static_cast<char*>(b.data());
        const std::array<mutable_buffer, 2> both{mutable_buffer(bytes, b.size() / 2),
                                                 mutable_buffer(bytes + b.size() / 2, b.size() - b.size() / 2)};
        if (in_two) return s.readv_some(both, ec);
    }
    return s.read_some(b, ec);
}

// Reads until the end or an error.
template <typename Stream>
heard listen_to(Stream& s, uint64_t key) {
    heard h;
    prng random(key + 1);
    std::vector<char> b(20'000);
    for (;;) {
        const std::size_t most = 1 + static_cast<std::size_t>(random.below(random.one_in(3) ? 20'000 : 300));
        const std::size_t n = read_somehow(s, mutable_buffer(b.data(), most), random.one_in(2), h.error);
        h.look_at(b.data(), n, key);
        h.ended = n == 0 && !h.error;
        if (h.ended || h.error) return h;
    }
}

// Reads frames of 8 and 1000 bytes.
template <typename Stream>
heard listen_to_frames(Stream& s, uint64_t key) {
    heard h;
    std::array<char, 1000> b;
    for (;;) {
        for (const std::size_t size : {std::size_t{8}, b.size()}) {
            const std::size_t n = s.read(mutable_buffer(b.data(), size), h.error);
            h.look_at(b.data(), n, key);
            h.ended = n < size && !h.error;
            if (h.ended || h.error) return h;
        }
    }
}

// The results of both directions at once.
struct talk {
    told near_told, far_told;
    heard near_heard, far_heard;
};

template <typename Over>
void start_talk(wait_group& all, two<Over>& t, talk& result, uint64_t key, uint64_t size) {
    all.go([&t, &result, key, size] { result.near_told = tell(t.near, key, size); });
    all.go([&t, &result, key, size] { result.far_told = tell(t.far, ~key, size); });
    all.go([&t, &result, key] { result.near_heard = listen_to(t.near, ~key); });
    all.go([&t, &result, key] { result.far_heard = listen_to(t.far, key); });
}

inline void expect_heard_all(const heard& h, uint64_t size) {
    EXPECT_FALSE(h.error) << h.error.message();
    EXPECT_TRUE(h.ended);
    EXPECT_EQ(h.read, size);
    EXPECT_EQ(h.wrong_at, heard::nowhere);
}

inline void expect_complete(const talk& t, uint64_t size) {
    EXPECT_FALSE(t.near_told.error) << t.near_told.error.message();
    EXPECT_FALSE(t.far_told.error) << t.far_told.error.message();
    EXPECT_EQ(t.near_told.sent, size);
    EXPECT_EQ(t.far_told.sent, size);
    expect_heard_all(t.near_heard, size);
    expect_heard_all(t.far_heard, size);
}

// Exchanges a few bytes, so that a connection exists, including any handshake.
template <typename Over>
void greet(two<Over>& t) {
    wait_group far;
    far.go([&] {
        char b[5];
        EXPECT_EQ(t.far.read(b), 5U);
        t.far.write_all("hello");
    });
    t.near.write_all("HELLO");
    char b[5];
    EXPECT_EQ(t.near.read(b), 5U);
    far.wait();
}

// Echoes until the end or an error.
template <typename Stream>
std::error_code echo(Stream& s) {
    std::error_code ec;
    std::array<char, 1000> b;
    while (const std::size_t n = s.read_some(b, ec)) {
        s.write_all(const_buffer(b.data(), n), ec);
        if (ec) return ec;
    }
    if (!ec) s.shutdown_send(ec);
    return ec;
}

// Sends question number i of key and checks the answer.
inline constexpr std::size_t question_size = 500;

template <typename Stream>
bool ask(Stream& s, uint64_t key, uint64_t i, std::error_code& ec) {
    s.write_all(secret_bytes(key, i * question_size, question_size), ec);
    if (ec) return false;
    std::array<char, question_size> b;
    return s.read(b, ec) == b.size() && are_secret_bytes(b.data(), b.size(), key, i * question_size);
}

}  // namespace weft::test::bad_network
