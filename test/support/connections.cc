#include "connections.h"

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
