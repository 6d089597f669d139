#include "connection.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "options.h"

namespace bench::net {

namespace {

constexpr std::size_t pattern_starts = 1 << 16;
constexpr std::size_t largest_payload = 1 << 20;
constexpr std::string_view unix_prefix = "unix:";

const std::vector<char>& pattern() {
    static const std::vector<char> bytes = [] {
        std::vector<char> made(pattern_starts + largest_payload);
        std::mt19937 random(20240229);
        std::generate(made.begin(), made.end(), [&] { return static_cast<char>(random()); });
        return made;
    }();
    return bytes;
}

int connect_unix(const std::string& path) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    if (path.size() >= sizeof to.sun_path) fail("the path is too long: " + path);
    std::memcpy(to.sun_path, path.data(), path.size());
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) fail("connect: " + path);
    return fd;
}

int connect_tcp(const std::string& address) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
        fail("connect: " + address + ": " + std::strerror(errno) + " (ulimit -n says how many files may be open)");
    }
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

}  // namespace

connection::connection(const std::string& address, uint64_t number, std::size_t payload)
    : number_(number), payload_(payload) {
    if (payload > largest_payload) fail("the payload is too large");
    const bool is_unix = address.starts_with(unix_prefix);
    fd_ = is_unix ? connect_unix(address.substr(unix_prefix.size())) : connect_tcp(address);
    ::fcntl(fd_, F_SETFL, O_NONBLOCK);
}

connection::connection(connection&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      number_(other.number_),
      payload_(other.payload_),
      sent_(other.sent_),
      received_(other.received_),
      due_(std::move(other.due_)) {}

connection::~connection() {
    if (fd_ >= 0) ::close(fd_);
}

bool connection::send() {
    const uint64_t all = received_ / payload_ * payload_ + due_.size() * payload_;
    while (sent_ < all) {
        const std::span<const char> bytes = bytes_from(sent_);
        const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) return false;
        if (n < 0 && errno != EINTR) fail(std::string("send: ") + std::strerror(errno));
        if (n > 0) sent_ += static_cast<uint64_t>(n);
    }
    return true;
}

std::size_t connection::take_arrived() {
    static std::array<char, 1 << 16> arrived;
    const ssize_t n = ::recv(fd_, arrived.data(), arrived.size(), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (n < 0) fail(std::string("recv: ") + std::strerror(errno));
    if (n == 0) fail("the server has closed a connection");
    const uint64_t before = received_;
    for (std::span<const char> left(arrived.data(), static_cast<std::size_t>(n)); !left.empty();) {
        const std::span<const char> expected = bytes_from(received_);
        const std::size_t size = std::min(left.size(), expected.size());
        if (received_ + size > sent_ || std::memcmp(left.data(), expected.data(), size) != 0) fail("a wrong echo");
        left = left.subspan(size);
        received_ += size;
    }
    return static_cast<std::size_t>(received_ / payload_ - before / payload_);
}

std::span<const char> connection::bytes_from(uint64_t at) const {
    const uint64_t request = at / payload_;
    const std::size_t offset = static_cast<std::size_t>(at % payload_);
    const std::size_t start = static_cast<std::size_t>(request * 61 + number_ * 127) % pattern_starts;
    return {pattern().data() + start + offset, payload_ - offset};
}

}  // namespace bench::net
