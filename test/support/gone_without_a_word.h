// gone_without_a_word.h: one end of a TCP connection whose machine has lost its power: nothing is sent any more, and nobody remembers.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft/net/tcp.h>

namespace weft::test {

// s is closed, and its other end does not hear of it. False, with s as it was: this process may not do that (it takes CAP_NET_ADMIN).
[[nodiscard]] inline bool go_without_a_word(net::tcp_stream& s) {
    const int on = 1;
    if (::setsockopt(s.native_handle(), IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)) != 0) return false;
    s.close();
    return true;
}

}  // namespace weft::test
