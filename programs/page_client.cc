// page_client.cc: see page_client.h.
#include "page_client.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace {

struct closed_fd {
    int fd;

    explicit closed_fd(int one) noexcept : fd(one) {}

    ~closed_fd() { ::close(fd); }

    closed_fd(const closed_fd&) = delete;
    closed_fd& operator=(const closed_fd&) = delete;
};

std::string reason() { return std::strerror(errno); }

}  // namespace

page_client::page_client(const std::string& url) {
    constexpr const char* scheme = "http://";
    const std::string rest = url.substr(0, 7) == scheme ? url.substr(7) : url;
    const std::string place = rest.substr(0, rest.find_first_of("/?"));
    const std::size_t colon = place.rfind(':');
    const std::size_t bracket = place.rfind(']');
    const bool has_port = colon != std::string::npos && (bracket == std::string::npos || colon > bracket);
    host_ = has_port ? place.substr(0, colon) : place;
    port_ = has_port ? place.substr(colon + 1) : "80";
    if (!host_.empty() && host_.front() == '[') host_ = host_.substr(1, host_.size() - 2);
    const std::size_t token = rest.find("token=");
    if (token != std::string::npos) token_ = rest.substr(token + 6, rest.find('&', token) - token - 6);
    // Other users of the machine see the arguments of a program, but not its environment.
    const char* hidden = std::getenv("WEFT_TOKEN");
    if (token == std::string::npos && hidden != nullptr) token_ = hidden;
    if (host_.empty() || port_.empty()) {
        throw std::runtime_error("weft: \"" + url +
                                 "\" is no URL of a page, such as http://127.0.0.1:8090/?token=1234");
    }
}

int page_client::connect() const {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int error = ::getaddrinfo(host_.c_str(), port_.c_str(), &hints, &found);
    if (error != 0) throw std::runtime_error("weft: cannot find " + host_ + ": " + ::gai_strerror(error));
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, &::freeaddrinfo);
    std::string why;
    for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
        const int fd = ::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
        if (fd < 0) continue;
        const timeval most{10, 0};
        ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
        ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
        if (::connect(fd, at->ai_addr, at->ai_addrlen) == 0) return fd;
        why = reason();
        ::close(fd);
    }
    throw std::runtime_error("weft: cannot connect to " + host_ + ":" + port_ + ": " + why);
}

std::string page_client::get(const std::string& target) const {
    const closed_fd socket(connect());
    const std::string request =
        "GET " + target + " HTTP/1.0\r\nHost: " + host_ + "\r\nAuthorization: Bearer " + token_ + "\r\n\r\n";
    if (::send(socket.fd, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
        throw std::runtime_error("weft: cannot ask " + host_ + ":" + port_ + ": " + reason());
    }
    std::string answer;
    char piece[16 * 1024];
    ssize_t got = 0;
    while ((got = ::recv(socket.fd, piece, sizeof(piece), 0)) > 0) answer.append(piece, static_cast<std::size_t>(got));
    if (got < 0) throw std::runtime_error("weft: no answer from " + host_ + ":" + port_ + ": " + reason());
    const std::size_t end = answer.find("\r\n\r\n");
    const std::size_t space = answer.find(' ');
    if (answer.substr(0, 5) != "HTTP/" || end == std::string::npos || space == std::string::npos) {
        throw std::runtime_error("weft: " + host_ + ":" + port_ + " is no page of weft");
    }
    std::string body = answer.substr(end + 4);
    const int status = std::atoi(answer.c_str() + space + 1);  // NOLINT(cert-err34-c): 0 is an error, too
    if (status != 200) {
        throw std::runtime_error("weft: the page has answered with status " + std::to_string(status) + ": " +
                                 body.substr(0, 200));
    }
    return body;
}
