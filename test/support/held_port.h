// held_port.h: a TCP port of 127.0.0.1 that refuses connections and that no other process is given.
//
// A port that was only looked up and closed can be given to the next socket, of this test or of one
// that runs beside it. While this object exists the port stays bound, and a server can still listen
// on it if it sets SO_REUSEADDR, as tcp_listener does. Not on Windows.
#pragma once

#include <cstdint>
#include <system_error>

#include <weft/net/endpoint.h>

#include "os/fd_calls.h"
#include "os/sockets.h"

namespace weft::test {

namespace os = weft::detail::os;

class held_port {
public:
    held_port() : fd_(os::socket_make(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* any = reinterpret_cast<sockaddr*>(&at);
        uint32_t size = sizeof at;
        int result = fd_ < 0 ? fd_ : os::socket_option(fd_, SOL_SOCKET, SO_REUSEADDR, 1);
        if (result == 0) result = os::socket_bind(fd_, any, size);
        if (result == 0) result = os::socket_name(fd_, false, any, size);
        if (result < 0) throw std::system_error(-result, std::generic_category(), "held_port");
        port_ = ntohs(at.sin_port);
    }

    ~held_port() { os::fd_close(fd_); }

    held_port(const held_port&) = delete;
    held_port& operator=(const held_port&) = delete;

    net::endpoint at() const { return net::endpoint::loopback(port_); }

    uint16_t port() const { return port_; }

private:
    int fd_;
    uint16_t port_ = 0;
};

}  // namespace weft::test
