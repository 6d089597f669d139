#include "connections.h"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include <gtest/gtest.h>

namespace weft::test {

over_unix::listener over_unix::listen(int backlog) {
    static std::atomic<int> number = 0;
    const std::string name = "@weft_test_" + std::to_string(::getpid()) + '_' + std::to_string(++number);
    return listener(net::unix_address(name), listener::options{.backlog = backlog});
}

std::pair<over_udp::socket, over_udp::socket> over_udp::pair() {
    socket near(net::endpoint::loopback(0));
    socket far(net::endpoint::loopback(0));
    near.connect(far.local_endpoint());
    far.connect(near.local_endpoint());
    return {std::move(near), std::move(far)};
}

void tell_failure(const char* over) {
    if (::testing::Test::HasFailure()) std::printf("there were failures by the end of what is done over %s\n", over);
}

void make_buffers_small(net::socket& s) {
    const int size = 32 * 1024;  // much less makes TCP wait for its timers: loopback packets have 64 KiB
    EXPECT_EQ(::setsockopt(s.native_handle(), SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
    EXPECT_EQ(::setsockopt(s.native_handle(), SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
}

void reset_on_close(net::socket& s) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    EXPECT_EQ(::setsockopt(s.native_handle(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
}

std::string secret_bytes(uint64_t key, uint64_t from, std::size_t count) {
    std::string bytes(count, '\0');
    for (std::size_t i = 0; i < count; ++i) bytes[i] = secret_byte(key, from + i);
    return bytes;
}

bool are_secret_bytes(const char* bytes, std::size_t count, uint64_t key, uint64_t from) noexcept {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i) wrong += bytes[i] != secret_byte(key, from + i) ? 1 : 0;
    return wrong == 0;
}

}  // namespace weft::test
