#include "support/two_ends.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace weft::test {

two_ends::two_ends(two_ends&& other) noexcept
    : read_end_(std::exchange(other.read_end_, -1)), write_end_(std::exchange(other.write_end_, -1)) {}

two_ends::~two_ends() {
    close_read_end();
    close_write_end();
}

two_ends two_ends::of_pipe(int flags) {
    std::array<int, 2> both{};
    if (::pipe2(both.data(), flags) != 0) std::abort();
    return {both[0], both[1]};
}

two_ends two_ends::of_small_pipe() {
    two_ends ends = of_pipe();
    if (::fcntl(ends.write_end_, F_SETPIPE_SZ, 4096) < 0) std::abort();
    return ends;
}

two_ends two_ends::of_sockets() {
    std::array<int, 2> both{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both.data()) != 0) std::abort();
    return {both[0], both[1]};
}

two_ends two_ends::of_terminal() {
    const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0) return {};
    std::array<char, 64> name{};
    const bool named =
        ::grantpt(master) == 0 && ::unlockpt(master) == 0 && ::ptsname_r(master, name.data(), name.size()) == 0;
    const int terminal = named ? ::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
    if (terminal < 0) {
        ::close(master);
        return {};
    }
    return {master, terminal};
}

void two_ends::close_read_end() {
    if (read_end_ >= 0) ::close(read_end_);
    read_end_ = -1;
}

void two_ends::close_write_end() {
    if (write_end_ >= 0) ::close(write_end_);
    write_end_ = -1;
}

void two_ends::fill() const {
    constexpr std::array<char, 64> dots{};
    ::fcntl(write_end_, F_SETFL, O_NONBLOCK);
    while (::write(write_end_, dots.data(), dots.size()) > 0) {}
    while (::write(write_end_, dots.data(), 1) == 1) {}
    ::fcntl(write_end_, F_SETFL, 0);
}

}  // namespace weft::test
