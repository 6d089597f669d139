// simulated_network.cc: see simulated_network.h.
#include "sim/simulated_network.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <weft/net/endpoint.h>

#include "net/socket_address.h"
#include "netpoll/poll_desc.h"
#include "os/fault_injection.h"
#include "os/sockets.h"
#include "sched/simulation.h"
#include "sim/controlled_run.h"
#include "sim/socket_addresses.h"

namespace weft::sim {

namespace {

using net::endpoint;
using net::detail::socket_address;
using weft::detail::poll_desc;
namespace poll_bits = weft::detail::poll_bits;

constexpr int sockets_most = weft::detail::simulated_fds_each / 2;
constexpr int files_most = weft::detail::simulated_fds_each - sockets_most;
constexpr uint16_t ports_first = 49152;  // that are chosen
constexpr uint32_t jitter_steps = 8;
constexpr uint32_t parts = 1'000'000;  // of a probability

weft::detail::os::failure kind_of(socket_call what) noexcept {
    using enum weft::detail::os::failure;
    switch (what) {
        case socket_call::make:
            return socket;
        case socket_call::bind:
            return bind;
        case socket_call::listen:
            return listen;
        case socket_call::connect:
            return connect;
        case socket_call::accept:
            return accept;
        case socket_call::send:
            return send;
        case socket_call::receive:
            break;
    }
    return receive;
}

}  // namespace

simulated_network::simulated_network(controlled_run& run)
    : run_(run), first_(weft::detail::add_simulated_fds(*this)), disks_(run, first_ + sockets_most, files_most) {
    clear();
}

simulated_network::~simulated_network() {
    if (!has_numbers()) return;
    if (!socks_.empty()) poll_desc::forget_simulated(first_, static_cast<int>(socks_.size()));
    disks_.forget_descriptors();
    weft::detail::remove_simulated_fds(first_);  // last: from then on another simulation may get them
}

void simulated_network::clear() {
    events.clear();
    by_serial_.clear();
    places_.clear();
    next_port_.clear();
    free_.clear();
    for (std::size_t i = socks_.size(); i > 0; --i) {
        socks_[i - 1]->serial = 0;
        free_.push_back(static_cast<int>(i - 1));  // the lowest number is taken first
    }
    computers.clear();
    disks_.clear();
    options = {};
    count = {};
    failing_.clear();
    add_failures_of_environment();
}

// RUN_DEBUG=fail=... counts in each schedule from its start, so that schedules can be repeated.
void simulated_network::add_failures_of_environment() {
    using weft::detail::os::failure_rule;
    constexpr unsigned all = ~0U;
    for (const failure_rule& r : weft::detail::os::armed_failures()) {
        const bool every = r.n == failure_rule::every;
        failing_.push_back({std::nullopt, r.kind, r.error,
                            every ? call_failures{0, all} : call_failures{static_cast<unsigned>(r.n) - 1, 1}});
    }
}

void simulated_network::fail(unsigned host, socket_call what, int error, const call_failures& which) {
    failing_.push_back({host, kind_of(what), error, which});
}

// All rules count the call, also if another one makes it fail; as for calls of the system.
int simulated_network::failure_of(unsigned host, socket_call what) {
    const weft::detail::os::failure kind = kind_of(what);
    int error = 0;
    for (failing_call& f : failing_) {
        if ((f.host && *f.host != host) || f.what != kind || f.left.times == 0) continue;
        if (f.left.after != 0) {
            --f.left.after;
            continue;
        }
        --f.left.times;
        error = f.error;
    }
    if (error != 0)
        run_.note(computers.name(host) + ": " + weft::detail::os::name_of(kind).name +
                  " fails: " + std::generic_category().message(error));
    return error;
}

int64_t simulated_network::now_ns() const noexcept { return run_.now_ns; }

// ---- Descriptors.

simulated_network::sock* simulated_network::of(int fd) noexcept {
    const auto i = static_cast<std::size_t>(fd - first_);
    if (i >= socks_.size() || socks_[i]->serial == 0) return nullptr;
    return socks_[i].get();
}

simulated_network::sock* simulated_network::with_serial(uint64_t serial) noexcept {
    const auto found = by_serial_.find(serial);
    return found == by_serial_.end() ? nullptr : found->second;
}

simulated_network::sock* simulated_network::new_sock(int family, int type, unsigned host) noexcept {
    if (free_.empty()) {
        if (socks_.size() == sockets_most) return nullptr;
        free_.push_back(static_cast<int>(socks_.size()));
        socks_.push_back(std::make_unique<sock>());
    }
    const int i = free_.back();
    free_.pop_back();
    sock& s = *socks_[static_cast<std::size_t>(i)];
    s = sock{};
    s.fd = first_ + i;
    s.family = family;
    s.type = type;
    s.host = host;
    s.serial = ++serials_;
    by_serial_[s.serial] = &s;
    return &s;
}

int simulated_network::make(int family, int type) noexcept {
    if (family != AF_INET && family != AF_INET6 && family != AF_UNIX) return -EAFNOSUPPORT;
    if (type != SOCK_STREAM && type != SOCK_DGRAM) return -EPROTONOSUPPORT;
    const unsigned host = run_.host_of_caller();
    if (!computers.is_up(host)) return -ENETDOWN;
    if (const int error = failure_of(host, socket_call::make); error != 0) return -error;
    const sock* s = new_sock(family, type, host);
    return s == nullptr ? -EMFILE : s->fd;
}

int simulated_network::make_pair(int type, int (&fds)[2]) noexcept {
    const unsigned host = run_.host_of_caller();
    if (!computers.is_up(host)) return -ENETDOWN;
    sock* a = new_sock(AF_UNIX, type, host);
    if (a == nullptr) return -EMFILE;
    sock* b = new_sock(AF_UNIX, type, host);
    if (b == nullptr) {
        close(a->fd);
        return -EMFILE;
    }
    a->is = b->is = state::connected;
    auto [there, back] = new_stream(host, host, true);
    there->writer = back->reader = a->serial;
    there->reader = back->writer = b->serial;
    a->out = b->in = there;
    a->in = b->out = back;
    fds[0] = a->fd;
    fds[1] = b->fd;
    return 0;
}

int simulated_network::add(int fd, uint64_t token) noexcept {
    sock* s = of(fd);
    if (s == nullptr) return EBADF;
    s->is_watched = true;
    s->token = token;
    // As a poller of the system, which reports at once what has happened before.
    short ready = 0;
    static_cast<void>(poll(fd, POLLIN | POLLOUT, ready));
    uint32_t what = (ready & POLLIN) != 0 ? poll_bits::readable : 0;
    if ((ready & POLLOUT) != 0) what |= poll_bits::writable;
    if ((ready & POLLERR) != 0 || (s->in && (s->in->ended || s->in->is_reset))) what |= poll_bits::hung_up;
    if (what != 0) events.add(now_ns(), [this, serial = s->serial, what] { edge(serial, what); });
    return 0;
}

void simulated_network::remove(int fd) noexcept {
    if (sock* s = of(fd)) s->is_watched = false;
}

void simulated_network::edge(const sock& s, uint32_t what) noexcept {
    if (!s.is_watched) return;
    weft::detail::ready_simulated(run_.only_m, poll_desc::deliver({s.token, what}));
}

void simulated_network::edge(uint64_t serial, uint32_t what) noexcept {
    if (const sock* s = with_serial(serial)) edge(*s, what);
}

int simulated_network::poll(int fd, short events_wanted, short& ready) noexcept {
    const sock* s = of(fd);
    ready = 0;
    if (s == nullptr) {
        ready = POLLNVAL;
        return 1;
    }
    const bool fails = s->error != 0 || s->is == state::dead;
    bool reads = fails || !s->queue.empty() || s->reads_no_more;
    if (s->in) reads = reads || s->in->available() != 0 || s->in->ended || s->in->is_reset;
    bool writes = fails || s->type == SOCK_DGRAM;
    if (s->out && s->is == state::connected) {
        const flow& f = *s->out;
        writes = writes || f.ends || f.is_reset || f.bytes_on_way + f.available() < options.window;
    }
    if (reads) ready |= static_cast<short>(events_wanted & POLLIN);
    if (writes) ready |= static_cast<short>(events_wanted & POLLOUT);
    if (fails) ready |= POLLERR;
    return ready != 0 ? 1 : 0;
}

int simulated_network::family(int fd, int& family) noexcept {
    const sock* s = of(fd);
    if (s == nullptr) return -EBADF;
    family = s->family;
    return 0;
}

int simulated_network::option(int fd, int level, int option, int& value) noexcept {
    sock* s = of(fd);
    if (s == nullptr) return -EBADF;
    value = 0;
    if (level == SOL_SOCKET && option == SO_TYPE) value = s->type;
    if (level == SOL_SOCKET && option == SO_ERROR) value = std::exchange(s->error, 0);
    return 0;
}

// The others have no effect here.
int simulated_network::set_option(int fd, int level, int option, const void* value, uint32_t size) noexcept {
    sock* s = of(fd);
    if (s == nullptr) return -EBADF;
    if (size != sizeof(int)) return -ENOPROTOOPT;  // groups of multicast
    if (level == SOL_SOCKET && option == SO_REUSEPORT) {
        int on = 0;
        std::memcpy(&on, value, std::min<std::size_t>(size, sizeof(on)));
        s->shares_port = on != 0;
    }
    return 0;
}

// ---- Addresses.

bool simulated_network::find_host(std::string_view name, std::array<uint8_t, 4>& address) noexcept {
    const std::optional<unsigned> host = computers.find(name);
    if (!host) return false;
    address = *host == 0 ? std::array<uint8_t, 4>{127, 0, 0, 1} : hosts::address(*host);
    if (*host == 0 && run_.host_of_caller() != 0) address = hosts::address(0);
    return true;
}

simulated_network::key simulated_network::key_of(const sock& s) {
    return {s.host, s.family == AF_UNIX ? -s.type : s.type, s.own.port, s.own.path};
}

simulated_network::sock* simulated_network::bound_to(
    unsigned host, int type, const ip& address, uint16_t port, uint16_t from_port) {
    const auto found = places_.find(key{host, type, port, {}});
    if (found == places_.end()) return nullptr;
    const std::vector<uint64_t>& all = found->second;
    for (std::size_t i = 0; i < all.size(); ++i) {
        sock* s = with_serial(all[(i + from_port) % all.size()]);
        if (s != nullptr && (is_any(s->own.address) || s->own.address == address)) return s;
    }
    return nullptr;
}

simulated_network::sock* simulated_network::bound_to(unsigned host, int type, const std::string& path) {
    const auto found = places_.find(key{host, -type, uint16_t{0}, path});
    return found == places_.end() ? nullptr : with_serial(found->second.front());
}

int simulated_network::bind_to(sock& s, place at) {
    if (s.is_bound) return -EINVAL;
    std::swap(s.own, at);
    std::vector<uint64_t>& all = places_[key_of(s)];
    for (const uint64_t serial : all) {
        const sock* other = with_serial(serial);
        const bool overlaps = s.family == AF_UNIX || is_any(s.own.address) || is_any(other->own.address) ||
                              s.own.address == other->own.address;
        if (!overlaps || (s.shares_port && other->shares_port)) continue;
        std::swap(s.own, at);
        return -EADDRINUSE;
    }
    all.push_back(s.serial);
    s.is_bound = true;
    return 0;
}

int simulated_network::bind_to_any_port(sock& s, const ip& address) {
    if (next_port_.size() <= s.host) next_port_.resize(s.host + 1, ports_first);
    uint16_t& next = next_port_[s.host];
    for (int tries = 0; tries < 65536 - ports_first; ++tries) {
        const uint16_t port = next++;
        if (next == 0) next = ports_first;
        if (const int result = bind_to(s, {address, port, {}}); result != -EADDRINUSE) return result;
    }
    return -EADDRINUSE;
}

void simulated_network::unbind(sock& s) {
    if (!std::exchange(s.is_bound, false)) return;
    const auto found = places_.find(key_of(s));
    if (found == places_.end()) return;
    std::erase(found->second, s.serial);
    if (found->second.empty()) places_.erase(found);
}

int simulated_network::bind(int fd, const sockaddr* at, uint32_t size) noexcept {
    sock* s = of(fd);
    if (s == nullptr) return -EBADF;
    if (s->is == state::dead) return -ENETDOWN;
    if (const int error = failure_of(s->host, socket_call::bind); error != 0) return -error;
    const socket_address a = read_address(at, size);
    if (s->family == AF_UNIX) {
        std::string path = path_of(a.to_unix_address());
        return path.empty() ? -EINVAL : bind_to(*s, {{}, 0, std::move(path)});
    }
    const std::optional<endpoint> e = a.to_endpoint();
    if (!e) return -EAFNOSUPPORT;
    const ip address = bytes_of(*e);
    if (computers.find(address, s->host) != s->host) return -EADDRNOTAVAIL;
    return e->port() == 0 ? bind_to_any_port(*s, address) : bind_to(*s, {address, e->port(), {}});
}

int simulated_network::name(int fd, bool of_peer, sockaddr* name, uint32_t& size) noexcept {
    const sock* s = of(fd);
    if (s == nullptr) return -EBADF;
    if (of_peer && s->is != state::connected) return -ENOTCONN;
    const place& p = of_peer ? s->peer : s->own;
    const socket_address a =
        s->family == AF_UNIX ? unix_socket_address(p.path) : socket_address(endpoint_of(s->family, p.address, p.port));
    const uint32_t room = size;
    size = a.size;
    std::memcpy(name, &a.storage, std::min(room, a.size));
    return 0;
}

// ---- What the wires do.

int64_t simulated_network::delay() {
    int64_t ns = options.latency.count();
    if (const int64_t jitter_ns = options.jitter.count(); jitter_ns != 0)
        ns += jitter_ns * run_.draw(jitter_steps) / (jitter_steps - 1);
    return ns;
}

bool simulated_network::happens(double part) {
    if (part <= 0) return false;
    return run_.draw(parts) >= parts - static_cast<uint32_t>(part * parts);
}

// At the time of arrival.
bool simulated_network::arrives(unsigned from, unsigned to, double loss) {
    ++count.packets;
    if (computers.reaches(from, to) && !happens(loss)) return true;
    ++count.lost;
    run_.note("a packet from " + computers.name(from) + " to " + computers.name(to) + " is lost");
    return false;
}

// ---- Hosts.

void simulated_network::crash(unsigned host) noexcept {
    for (const std::unique_ptr<sock>& each : socks_) {
        sock& s = *each;
        if (s.serial == 0 || s.host != host || s.is == state::dead) continue;
        unbind(s);
        // Others no longer find it, but its descriptor is the program's until it closes it.
        by_serial_.erase(s.serial);
        for (const arrival& a : s.queue) {
            if (a.in) a.in->is_accepted = true;  // no socket will
        }
        s.queue.clear();
        s.in = s.out = nullptr;
        s.is = state::dead;
        edge(s, poll_bits::readable | poll_bits::writable | poll_bits::hung_up);
    }
    disks_.crash(host);
    computers.crash(host);
}

void simulated_network::restart(unsigned host) { computers.restart(host); }

}  // namespace weft::sim
