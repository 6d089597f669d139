// gone_without_a_word.h: a TCP connection whose peer has lost power: it sends nothing, and has no
// state.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft/net/tcp.h>

namespace weft::test {

// Closes s without notice to its other end. False, with s unchanged: the process lacks
// CAP_NET_ADMIN.
[[nodiscard]] inline bool go_without_a_word(net::tcp_stream& s) {
    const int on = 1;
    if (::setsockopt(s.native_handle(), IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)) != 0) return false;
    s.close();
    return true;
}

}  // namespace weft::test
