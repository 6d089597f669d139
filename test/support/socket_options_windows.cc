// socket_options_windows.cc: see connections.h.
#include <gtest/gtest.h>

#include "connections.h"
#include "os/std_handles.h"
#include "os/windows_api.h"

namespace weft::test {

namespace {

SOCKET to_socket(const net::socket& s) { return weft::detail::os::to_socket(s.native_handle()); }

}  // namespace

void make_buffers_small(net::socket& s) {
    const int size = 32 * 1024;  // much less makes TCP wait for its timers: loopback packets have 64 KiB
    EXPECT_EQ(::setsockopt(to_socket(s), SOL_SOCKET, SO_SNDBUF, reinterpret_cast<const char*>(&size), sizeof(size)), 0);
    EXPECT_EQ(::setsockopt(to_socket(s), SOL_SOCKET, SO_RCVBUF, reinterpret_cast<const char*>(&size), sizeof(size)), 0);
}

void reset_on_close(net::socket& s) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    EXPECT_EQ(
        ::setsockopt(to_socket(s), SOL_SOCKET, SO_LINGER, reinterpret_cast<const char*>(&at_once), sizeof(at_once)), 0);
}

}  // namespace weft::test
