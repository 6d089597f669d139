// simulated_fds.h: descriptors that a simulation provides instead of the system.
//
// In a simulation, weft's sockets belong to a network in memory. Their descriptors are numbers that
// the system never uses, so the layers above (poll_desc, fd_io, sockets) work unchanged:
// netpoll/fd_calls.h sends the calls on them here. A simulation is also their poller: it counts
// edges itself, when the network delivers.
//
// Rejected: Simulated streams as other types. What is tested would be another program. Pairs of
//           real sockets: their order and their delays are the system's.
//
// Invariants: S3  A number is in one simulation's range, and simulations do not share numbers at
//                 the same time. A new one may reuse the range of an earlier one: poll_desc's
//                 generations tell their files apart.
//
// Threads: the simulation's M; closing: any.
// See:     docs/sim.md, src/sim/simulated_network.h
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "poll/backend.h"

struct sockaddr;
struct iovec;

namespace weft::detail {

inline constexpr int simulated_fds_first = 1 << 23;  // the system has fewer
inline constexpr int simulated_fds_each = 1 << 16;   // of one simulation

[[nodiscard]] constexpr bool is_simulated_fd(int fd) noexcept { return fd >= simulated_fds_first; }

// The functions that are not the poller's have the parameters and results of those in
// os/fd_calls.h.
class simulated_files;

class simulated_fds : public poll_backend {
public:
    [[nodiscard]] virtual int make(int family, int type) noexcept = 0;
    [[nodiscard]] virtual int make_pair(int type, int (&fds)[2]) noexcept = 0;
    [[nodiscard]] virtual int accept(int fd) noexcept = 0;
    [[nodiscard]] virtual int connect(int fd, const sockaddr* to, uint32_t size) noexcept = 0;
    [[nodiscard]] virtual int bind(int fd, const sockaddr* at, uint32_t size) noexcept = 0;
    [[nodiscard]] virtual int listen(int fd, int backlog) noexcept = 0;
    [[nodiscard]] virtual int shut(int fd, int how) noexcept = 0;
    [[nodiscard]] virtual int name(int fd, bool of_peer, sockaddr* name, uint32_t& size) noexcept = 0;
    [[nodiscard]] virtual int set_option(int fd, int level, int option, const void* value, uint32_t size) noexcept = 0;
    [[nodiscard]] virtual int option(int fd, int level, int option, int& value) noexcept = 0;
    [[nodiscard]] virtual int family(int fd, int& family) noexcept = 0;
    [[nodiscard]] virtual int64_t receive(int fd, const iovec* into, std::size_t count) noexcept = 0;
    [[nodiscard]] virtual int64_t send(int fd, const iovec* from, std::size_t count) noexcept = 0;
    [[nodiscard]] virtual int64_t send_to(
        int fd, const void* data, std::size_t size, const sockaddr* to, uint32_t to_size) noexcept = 0;
    [[nodiscard]] virtual int64_t receive_from(
        int fd, void* into, std::size_t size, sockaddr* from, uint32_t& from_size, bool& cut) noexcept = 0;
    [[nodiscard]] virtual int poll(int fd, short events, short& ready) noexcept = 0;
    virtual int close(int fd) noexcept = 0;

    // Files are numbers of the same range, and close() closes them, too.
    [[nodiscard]] virtual simulated_files& files() noexcept = 0;

    // The IPv4 address of a host. False: no host has that name.
    [[nodiscard]] virtual bool find_host(std::string_view name, std::array<uint8_t, 4>& address) noexcept = 0;
};

// Gives f a range of numbers. Returns the first one, or -1: too many simulations run at once.
[[nodiscard]] int add_simulated_fds(simulated_fds& f) noexcept;
void remove_simulated_fds(int first) noexcept;

// Whose fd is; nullptr: its simulation has ended.
[[nodiscard]] simulated_fds* simulated_fds_of(int fd) noexcept;

// Those of the caller's simulation; nullptr: none controls it.
[[nodiscard]] simulated_fds* simulated_fds_of_caller() noexcept;

}  // namespace weft::detail
