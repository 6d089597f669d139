// simulated_network.h: sockets of a simulation, in memory.
//
// What a kernel and the wires do for sockets, as far as a program can see it. A packet is an event
// at the time of its arrival. Only there is it decided whether it arrives: hosts may have crashed,
// and links may be cut, on its way.
//
//   stream    two flows, one for each direction. A flow has segments on their way, in order, of
//             which the first one is tried until it arrives; so a lost one delays those behind it.
//             Bytes that have arrived are unread until they are received. Both count for the
//             window: a full one makes the writer wait.
//   connect   a request travels to the listener, and an answer back. Each is tried again, for two
//             minutes, if it is lost or the listener's queue is full. The client's first segment
//             puts the connection into the listener's queue.
//   end       FIN and RST are segments. A segment that finds no receiver is answered with RST.
//   datagram  one event each, or none, or two. One that finds no socket is answered if its sender
//             is connected.
//
// Unix sockets are the same without packets: what is sent has arrived.
//
// Rejected: Packets at the level of IP. Sequence numbers and acknowledgements would be simulated,
//           but no program can see them.
//
// Invariants: N1  A flow has at most one event, and has one while segments are on their way.
//             N2  Each change that could let a call succeed after it has returned EAGAIN reports an
//                 edge, if the descriptor is watched.
//             N3  Events find their sockets by serial number, because descriptors are reused.
//
// Threads: the simulation's M. See: docs/sim.md, src/sched/simulated_fds.h
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <weft/sim/network.h>

#include "os/fault_injection.h"
#include "sched/simulated_fds.h"
#include "sim/event_queue.h"
#include "sim/hosts.h"
#include "sim/simulated_disks.h"

struct sockaddr_storage;

namespace weft::sim {

class controlled_run;

class simulated_network final : public weft::detail::simulated_fds {
public:
    explicit simulated_network(controlled_run& run);
    ~simulated_network() override;
    simulated_network(const simulated_network&) = delete;
    simulated_network& operator=(const simulated_network&) = delete;

    // A schedule begins.
    void clear();

    [[nodiscard]] bool has_numbers() const noexcept { return first_ >= 0; }

    // Files have the upper half of the numbers.
    [[nodiscard]] simulated_disks& disks() noexcept { return disks_; }

    weft::detail::simulated_files& files() noexcept override { return disks_; }

    event_queue events;
    hosts computers;
    network_options options;
    network::counts count;

    void crash(unsigned host) noexcept;
    void restart(unsigned host);
    void fail(unsigned host, socket_call what, int error, const call_failures& which);

    int make(int family, int type) noexcept override;
    int make_pair(int type, int (&fds)[2]) noexcept override;
    int accept(int fd) noexcept override;
    int connect(int fd, const sockaddr* to, uint32_t size) noexcept override;
    int bind(int fd, const sockaddr* at, uint32_t size) noexcept override;
    int listen(int fd, int backlog) noexcept override;
    int shut(int fd, int how) noexcept override;
    int name(int fd, bool of_peer, sockaddr* name, uint32_t& size) noexcept override;
    int set_option(int fd, int level, int option, const void* value, uint32_t size) noexcept override;
    int option(int fd, int level, int option, int& value) noexcept override;
    int family(int fd, int& family) noexcept override;
    int64_t receive(int fd, const iovec* into, std::size_t count) noexcept override;
    int64_t send(int fd, const iovec* from, std::size_t count) noexcept override;
    int64_t send_to(int fd, const void* data, std::size_t size, const sockaddr* to, uint32_t to_size) noexcept override;
    int64_t receive_from(
        int fd, void* into, std::size_t size, sockaddr* from, uint32_t& from_size, bool& cut) noexcept override;
    int poll(int fd, short events, short& ready) noexcept override;
    int close(int fd) noexcept override;
    bool find_host(std::string_view name, std::array<uint8_t, 4>& address) noexcept override;

    int open() noexcept override { return 0; }

    int add(int fd, uint64_t token) noexcept override;
    void remove(int fd) noexcept override;

    uint32_t wait(weft::detail::poll_event* /*events*/, int64_t /*deadline_ns*/) noexcept override { return 0; }

    void interrupt() noexcept override {}

private:
    // Of an Internet socket, or with a path that of a Unix socket: "/p", or "\0n" for an abstract
    // name.
    struct place {
        ip address{};
        uint16_t port = 0;
        std::string path;
    };

    struct flow;

    struct segment {
        std::string bytes;
        int64_t due_ns = 0;
        bool ends = false;              // FIN
        bool resets = false;            // RST
        std::shared_ptr<flow> opens{};  // the client has got the answer: the other direction
    };

    // One direction of a stream.
    struct flow {
        unsigned from = 0;  // hosts
        unsigned to = 0;
        uint64_t reader = 0;  // serial numbers of sockets; 0: none
        uint64_t writer = 0;
        bool is_accepted = true;  // else the reader comes later
        place client;             // of the first segment
        place server;
        bool is_unix = false;
        std::deque<segment> on_way;
        std::size_t bytes_on_way = 0;
        std::string unread;
        std::size_t read = 0;  // of unread
        bool ends = false;     // the writer sends no more
        bool ended = false;    // and the reader has been told
        bool is_reset = false;
        bool writer_waits = false;
        bool is_scheduled = false;  // an event will try the first segment
        int64_t free_ns = 0;        // when the next segment may leave, by bytes_per_second
        int64_t last_ns = 0;        // when the last one arrives
        int64_t failing_ns = 0;     // since then the first segment has been lost; 0: it has not
        unsigned losses = 0;

        [[nodiscard]] std::size_t available() const noexcept { return unread.size() - read; }
    };

    using flow_ptr = std::shared_ptr<flow>;

    struct arrival {  // of a connection, or a datagram
        place from;
        flow_ptr in;
        flow_ptr out;
        std::string bytes;
    };

    enum class state : uint8_t { fresh, listening, connecting, connected, dead };

    struct sock {
        int fd = -1;
        int family = 0;
        int type = 0;
        unsigned host = 0;
        state is = state::fresh;
        bool is_bound = false;  // has an entry in places_
        bool shares_port = false;
        bool is_watched = false;
        bool reads_no_more = false;
        int error = 0;  // for the next call
        uint64_t serial = 0;
        uint64_t token = 0;
        place own;
        place peer;
        flow_ptr in;
        flow_ptr out;
        std::deque<arrival> queue;
        std::size_t queued_bytes = 0;
        std::size_t backlog = 0;
    };

    using key = std::tuple<unsigned, int, uint16_t, std::string>;  // host, type, port, path

    [[nodiscard]] int64_t now_ns() const noexcept;
    [[nodiscard]] sock* of(int fd) noexcept;
    [[nodiscard]] sock* with_serial(uint64_t serial) noexcept;
    [[nodiscard]] sock* new_sock(int family, int type, unsigned host) noexcept;
    [[nodiscard]] static key key_of(const sock& s);
    [[nodiscard]] sock* bound_to(unsigned host, int type, const ip& address, uint16_t port, uint16_t from_port);
    [[nodiscard]] sock* bound_to(unsigned host, int type, const std::string& path);
    [[nodiscard]] int bind_to(sock& s, place at);
    [[nodiscard]] int bind_to_any_port(sock& s, const ip& address);
    void unbind(sock& s);
    void edge(const sock& s, uint32_t what) noexcept;
    void edge(uint64_t serial, uint32_t what) noexcept;

    struct failing_call {
        std::optional<unsigned> host;  // none: of any host
        weft::detail::os::failure what;
        int error;
        call_failures left;
    };

    void add_failures_of_environment();

    // The error of a call that would succeed; 0: it does.
    [[nodiscard]] int failure_of(unsigned host, socket_call what);

    [[nodiscard]] int64_t delay();
    [[nodiscard]] bool happens(double part);
    [[nodiscard]] bool arrives(unsigned from, unsigned to, double loss);
    void send_segment(const flow_ptr& f, segment s);
    void schedule(const flow_ptr& f, int64_t due_ns);
    void try_first(const flow_ptr& f);
    void take(const flow_ptr& f, segment& s);
    [[nodiscard]] bool enqueue(const flow_ptr& f, const flow_ptr& back);
    void answer_with_reset(const flow& f);
    void break_stream(sock& s, int error);

    [[nodiscard]] int connect_unix(sock& s, const std::string& path);
    void request(uint64_t client, place from, place to, unsigned host, int64_t since_ns, unsigned tries);
    void answer(uint64_t client, const flow_ptr& out, const flow_ptr& in, int error, int64_t since_ns, unsigned tries);
    std::pair<flow_ptr, flow_ptr> new_stream(unsigned client_host, unsigned server_host, bool is_unix);
    [[nodiscard]] int64_t send_datagram(sock& s, std::string bytes, const place& to);
    void deliver_datagram(uint64_t sender,
                          unsigned from_host,
                          unsigned to_host,
                          const place& from,
                          const place& to,
                          const std::string& bytes);

    controlled_run& run_;
    std::vector<failing_call> failing_;
    int first_;
    simulated_disks disks_;
    std::vector<std::unique_ptr<sock>> socks_;  // by descriptor, from first_
    std::vector<int> free_;
    std::map<uint64_t, sock*> by_serial_;
    uint64_t serials_ = 0;
    std::map<key, std::vector<uint64_t>> places_;
    std::vector<uint16_t> next_port_;  // by host
};

}  // namespace weft::sim
