// held_port.h: a TCP port of 127.0.0.1 that refuses connections and that no other process is given.
//
// A port that was only looked up and closed can be given to the next socket, of this test or of one
// that runs beside it. While this object exists the port stays bound, and a server can still listen
// on it if it sets SO_REUSEADDR, as tcp_listener does.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include <weft/net/endpoint.h>

namespace weft::test {

class held_port {
public:
    held_port() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const int yes = 1;
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* any = reinterpret_cast<sockaddr*>(&at);
        socklen_t size = sizeof at;
        if (fd_ < 0 || ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
            ::bind(fd_, any, size) != 0 || ::getsockname(fd_, any, &size) != 0) {
            throw std::system_error(errno, std::generic_category(), "held_port");
        }
        port_ = ntohs(at.sin_port);
    }

    ~held_port() { ::close(fd_); }

    held_port(const held_port&) = delete;
    held_port& operator=(const held_port&) = delete;

    net::endpoint at() const { return net::endpoint::loopback(port_); }

    uint16_t port() const { return port_; }

private:
    int fd_;
    uint16_t port_ = 0;
};

}  // namespace weft::test
