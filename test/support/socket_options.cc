// socket_options.cc: see connections.h.
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "connections.h"

namespace weft::test {

void make_buffers_small(net::socket& s) {
    const int size = 32 * 1024;  // much less makes TCP wait for its timers: loopback packets have 64 KiB
    EXPECT_EQ(::setsockopt(s.native_handle(), SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
    EXPECT_EQ(::setsockopt(s.native_handle(), SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
}

void reset_on_close(net::socket& s) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    EXPECT_EQ(::setsockopt(s.native_handle(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
}

}  // namespace weft::test
