// simulated_network.cc: see simulated_network.h.
#include "sim/simulated_network.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <weft/net/endpoint.h>

#include "net/socket_address.h"
#include "netpoll/poll_desc.h"
#include "os/sockets.h"
#include "sched/simulation.h"
#include "sim/controlled_run.h"

namespace weft::sim {

namespace {

using net::endpoint;
using net::detail::socket_address;
using weft::detail::poll_desc;
namespace poll_bits = weft::detail::poll_bits;

constexpr int64_t second_ns = 1'000'000'000;
// As Linux: tcp_retries2, tcp_syn_retries, the receive buffer of a datagram socket, its queue for
// Unix sockets.
constexpr int64_t first_pause_ns = second_ns / 5;
constexpr int64_t longest_pause_ns = 120 * second_ns;
constexpr int64_t stream_patience_ns = 924 * second_ns;
constexpr int64_t connect_pause_ns = second_ns;
constexpr int64_t connect_patience_ns = 127 * second_ns;
constexpr std::size_t datagram_bytes_max = 212'992;
constexpr std::size_t unix_datagrams_max = 10;
constexpr std::size_t datagram_size_max = 65'507;

constexpr uint16_t ports_first = 49152;  // that are chosen
constexpr uint32_t jitter_steps = 8;
constexpr uint32_t parts = 1'000'000;  // of a probability
constexpr uint32_t split_once_in = 16;
constexpr int64_t split_ns = 1'000;  // from the first part to the second

int64_t pause_after(unsigned tries, int64_t first_ns) noexcept {
    return tries >= 16 ? longest_pause_ns : std::min(first_ns << tries, longest_pause_ns);
}

ip bytes_of(const endpoint& e) noexcept {
    if (e.version() == endpoint::ip::v6) return e.address();
    return mapped({e.address()[0], e.address()[1], e.address()[2], e.address()[3]});
}

endpoint endpoint_of(int family, const ip& address, uint16_t port) noexcept {
    if (family == AF_INET6) return {address, port};
    return {std::array<uint8_t, 4>{address[12], address[13], address[14], address[15]}, port};
}

socket_address read_address(const sockaddr* from, uint32_t size) noexcept {
    socket_address a;
    a.size = std::min(size, static_cast<uint32_t>(sizeof(a.storage)));
    std::memcpy(&a.storage, from, a.size);
    return a;
}

std::string path_of(const net::unix_address& a) {
    return a.is_abstract() ? std::string(1, '\0') + std::string(a.name()) : std::string(a.path());
}

std::string joined(const iovec* from, std::size_t count, std::size_t most) {
    std::string bytes;
    for (std::size_t i = 0; i < count && bytes.size() < most; ++i)
        bytes.append(static_cast<const char*>(from[i].iov_base), std::min(from[i].iov_len, most - bytes.size()));
    return bytes;
}

std::size_t total(const iovec* all, std::size_t count) noexcept {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) bytes += all[i].iov_len;
    return bytes;
}

}  // namespace

simulated_network::simulated_network(controlled_run& run) : run_(run), first_(weft::detail::add_simulated_fds(*this)) {
    clear();
}

simulated_network::~simulated_network() {
    if (!has_numbers()) return;
    weft::detail::remove_simulated_fds(first_);
    if (!socks_.empty()) poll_desc::forget_simulated(first_, static_cast<int>(socks_.size()));
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
    options = {};
    count = {};
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
        if (socks_.size() == weft::detail::simulated_fds_each) return nullptr;
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
    const sock* s = new_sock(family, type, run_.host_of_caller());
    return s == nullptr ? -EMFILE : s->fd;
}

int simulated_network::make_pair(int type, int (&fds)[2]) noexcept {
    const unsigned host = run_.host_of_caller();
    sock* a = new_sock(AF_UNIX, type, host);
    sock* b = a == nullptr ? nullptr : new_sock(AF_UNIX, type, host);
    if (b == nullptr) return -EMFILE;
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
    if (level != SOL_SOCKET && option != TCP_NODELAY && option != IPV6_V6ONLY && size != sizeof(int))
        return -ENOPROTOOPT;  // groups of multicast
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
    socket_address a;
    if (s->family != AF_UNIX) {
        a = socket_address(endpoint_of(s->family, p.address, p.port));
    } else if (p.path.empty()) {
        a = socket_address(net::unix_address());
    } else if (p.path.front() == '\0') {
        a = socket_address(net::unix_address::abstract_name(std::string_view(p.path).substr(1)));
    } else {
        a = socket_address(net::unix_address(p.path));
    }
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
    return false;
}

std::pair<simulated_network::flow_ptr, simulated_network::flow_ptr> simulated_network::new_stream(unsigned client_host,
                                                                                                  unsigned server_host,
                                                                                                  bool is_unix) {
    auto there = std::make_shared<flow>();
    auto back = std::make_shared<flow>();
    there->from = back->to = client_host;
    there->to = back->from = server_host;
    there->is_unix = back->is_unix = is_unix;
    ++count.connections;
    return {std::move(there), std::move(back)};
}

void simulated_network::send_segment(const flow_ptr& f, segment s) {
    f->bytes_on_way += s.bytes.size();
    if (f->is_unix) {
        take(*f, s);
        return;
    }
    int64_t leaves_ns = now_ns();
    if (options.bytes_per_second != 0) {
        leaves_ns = std::max(leaves_ns, f->free_ns);
        const double takes_s = static_cast<double>(s.bytes.size()) / static_cast<double>(options.bytes_per_second);
        f->free_ns = leaves_ns + static_cast<int64_t>(takes_s * static_cast<double>(second_ns));
        leaves_ns = f->free_ns;
    }
    s.due_ns = std::max(leaves_ns + delay(), f->last_ns);
    f->last_ns = s.due_ns;
    f->on_way.push_back(std::move(s));
    if (f->on_way.size() == 1) events.add(f->on_way.front().due_ns, [this, f] { try_first(f); });
}

// The first segment of f reaches its end, or is lost on the way.
void simulated_network::try_first(const flow_ptr& f) {
    if (f->on_way.empty()) return;  // the stream has been reset
    if (!arrives(f->from, f->to, options.loss)) {
        if (f->failing_ns == 0) f->failing_ns = now_ns();
        if (now_ns() - f->failing_ns > stream_patience_ns) {
            f->on_way.clear();
            if (sock* s = with_serial(f->writer)) break_stream(*s, ETIMEDOUT);
            return;
        }
        events.add(now_ns() + pause_after(f->losses++, first_pause_ns), [this, f] { try_first(f); });
        return;
    }
    f->failing_ns = 0;
    f->losses = 0;
    segment& s = f->on_way.front();
    if (options.splits && s.bytes.size() > 1 && run_.draw(split_once_in) == split_once_in - 1) {
        const auto at = 1 + run_.draw(static_cast<uint32_t>(std::min<std::size_t>(s.bytes.size() - 1, parts)));
        segment first{.bytes = s.bytes.substr(0, at)};
        s.bytes.erase(0, at);
        take(*f, first);
        events.add(now_ns() + split_ns, [this, f] { try_first(f); });
        return;
    }
    segment whole = std::move(s);
    f->on_way.pop_front();
    const bool more = !f->on_way.empty();
    take(*f, whole);
    if (more && !f->on_way.empty())
        events.add(std::max(now_ns(), f->on_way.front().due_ns), [this, f] { try_first(f); });
}

// s has arrived.
void simulated_network::take(flow& f, segment& s) {
    f.bytes_on_way -= s.bytes.size();
    sock* reader = with_serial(f.reader);
    if (s.resets) {
        f.is_reset = true;
        f.on_way.clear();
        if (reader != nullptr) break_stream(*reader, ECONNRESET);
        return;
    }
    if (reader == nullptr && f.is_accepted) {
        f.on_way.clear();
        f.bytes_on_way = 0;
        if (!s.ends || !s.bytes.empty()) answer_with_reset(f);
        return;
    }
    count.bytes += s.bytes.size();
    if (f.read == f.unread.size()) {
        f.unread.clear();
        f.read = 0;
    }
    f.unread += s.bytes;
    if (s.ends) f.ended = true;
    if (reader != nullptr) edge(*reader, s.ends ? poll_bits::readable | poll_bits::hung_up : poll_bits::readable);
}

// Of a Unix socket the writer is told at once.
void simulated_network::answer_with_reset(const flow& f) {
    const auto tell = [this, writer = f.writer] {
        if (sock* s = with_serial(writer)) break_stream(*s, ECONNRESET);
    };
    if (f.is_unix) {
        tell();
        return;
    }
    events.add(now_ns() + delay(), [this, from = f.to, to = f.from, tell] {
        if (arrives(from, to, 0)) tell();
    });
}

void simulated_network::break_stream(sock& s, int error) {
    if (s.is == state::dead) return;
    s.error = error;
    for (const flow_ptr& f : {s.in, s.out}) {
        if (!f) continue;
        f->is_reset = true;
        f->on_way.clear();
        f->bytes_on_way = 0;
        f->unread.clear();
        f->read = 0;
    }
    edge(s, poll_bits::readable | poll_bits::writable | poll_bits::hung_up);
}

// ---- Streams.

int simulated_network::listen(int fd, int backlog) noexcept {
    sock* s = of(fd);
    if (s == nullptr) return -EBADF;
    if (s->type != SOCK_STREAM) return -EOPNOTSUPP;
    if (!s->is_bound) {
        if (s->family == AF_UNIX) return -EINVAL;
        if (const int result = bind_to_any_port(*s, {}); result < 0) return result;
    }
    s->is = state::listening;
    s->backlog = static_cast<std::size_t>(std::max(backlog, 0)) + 1;
    return 0;
}

int simulated_network::accept(int fd) noexcept {
    sock* s = of(fd);
    if (s == nullptr) return -EBADF;
    if (s->is != state::listening) return -EINVAL;  // also a dead one: accept is repeated after ECONNABORTED
    if (s->queue.empty()) return -EAGAIN;
    sock* made = new_sock(s->family, SOCK_STREAM, s->host);
    if (made == nullptr) return -EMFILE;
    s = of(fd);
    arrival a = std::move(s->queue.front());
    s->queue.pop_front();
    made->is = state::connected;
    made->own = s->own;
    made->peer = std::move(a.from);
    if (s->family != AF_UNIX && is_any(made->own.address))
        made->own.address = is_loopback(made->peer.address) ? made->peer.address : mapped(hosts::address(s->host));
    made->in = std::move(a.in);
    made->out = std::move(a.out);
    made->in->is_accepted = true;
    made->in->reader = made->out->writer = made->serial;
    if (made->in->is_reset) made->error = ECONNRESET;
    return made->fd;
}

int simulated_network::connect(int fd, const sockaddr* to, uint32_t size) noexcept {
    sock* s = of(fd);
    if (s == nullptr) return -EBADF;
    if (s->is == state::dead) return -ENETDOWN;
    const socket_address a = read_address(to, size);
    if (s->family == AF_UNIX) return connect_unix(*s, path_of(a.to_unix_address()));
    const std::optional<endpoint> e = a.to_endpoint();
    if (!e) return -EAFNOSUPPORT;
    const ip address = bytes_of(*e);
    const std::optional<unsigned> host = computers.find(address, s->host);
    if (!host) return -ENETUNREACH;
    if (s->type == SOCK_STREAM && s->is != state::fresh) return s->is == state::connecting ? -EALREADY : -EISCONN;
    ip own = mapped(hosts::address(s->host));
    if (is_any(address) || is_loopback(address)) own = is_any(address) ? mapped({127, 0, 0, 1}) : address;
    if (!s->is_bound) {
        if (const int result = bind_to_any_port(*s, own); result < 0) return -EADDRNOTAVAIL;
    }
    s->peer = {address, e->port(), {}};
    if (s->type == SOCK_DGRAM) {
        s->is = state::connected;
        return 0;
    }
    s->is = state::connecting;
    events.add(now_ns() + delay(), [this, client = s->serial, from = s->own, to_place = s->peer, host = *host,
                                    since_ns = now_ns()] { request(client, from, to_place, host, since_ns, 0); });
    return -EINPROGRESS;
}

// The request of a client to connect reaches the host.
void simulated_network::request(
    uint64_t client, place from, place to, unsigned host, int64_t since_ns, unsigned tries) {
    const sock* c = with_serial(client);
    if (c == nullptr || c->is != state::connecting) return;
    const unsigned from_host = c->host;
    sock* listener = nullptr;
    bool is_lost = !arrives(from_host, host, options.loss);
    if (!is_lost) {
        listener = bound_to(host, SOCK_STREAM, to.address, to.port, from.port);
        is_lost = listener != nullptr && listener->queue.size() >= listener->backlog;
    }
    if (is_lost) {
        if (now_ns() - since_ns >= connect_patience_ns) {
            answer(client, nullptr, nullptr, ETIMEDOUT, since_ns, tries);
            return;
        }
        events.add(now_ns() + pause_after(tries, connect_pause_ns),
                   [this, client, from = std::move(from), to = std::move(to), host, since_ns, tries] {
                       request(client, from, to, host, since_ns, tries + 1);
                   });
        return;
    }
    if (listener == nullptr || listener->is != state::listening) {
        events.add(now_ns() + delay(),
                   [this, client, since_ns] { answer(client, nullptr, nullptr, ECONNREFUSED, since_ns, 0); });
        return;
    }
    auto [there, back] = new_stream(from_host, host, false);
    there->is_accepted = false;
    there->writer = back->reader = client;
    listener->queue.push_back({std::move(from), there, back, {}});
    edge(*listener, poll_bits::readable);
    events.add(now_ns() + delay(),
               [this, client, there, back, since_ns] { answer(client, there, back, 0, since_ns, 0); });
}

// The answer reaches the client. out and in: the stream, if error is 0.
void simulated_network::answer(
    uint64_t client, const flow_ptr& out, const flow_ptr& in, int error, int64_t since_ns, unsigned tries) {
    sock* c = with_serial(client);
    const bool is_awaited = c != nullptr && c->is == state::connecting;
    if (in && !arrives(in->from, in->to, options.loss)) {
        if (now_ns() - since_ns >= connect_patience_ns) {
            error = ETIMEDOUT;
        } else {
            events.add(now_ns() + pause_after(tries, connect_pause_ns),
                       [this, client, out, in, since_ns, tries] { answer(client, out, in, 0, since_ns, tries + 1); });
            return;
        }
    }
    if (!is_awaited) {
        if (error == 0 && in) send_segment(out, {.bytes = {}, .resets = true});
        return;
    }
    c->error = error;
    c->is = error == 0 ? state::connected : state::fresh;
    if (error == 0) {
        c->out = out;
        c->in = in;
        if (in->is_reset) c->error = ECONNRESET;
    }
    edge(*c, error == 0 ? poll_bits::writable : poll_bits::readable | poll_bits::writable | poll_bits::hung_up);
}

int simulated_network::connect_unix(sock& s, const std::string& path) {
    sock* other = bound_to(s.host, s.type, path);
    if (s.type == SOCK_DGRAM) {
        if (other == nullptr) return -ENOENT;
        s.peer = {{}, 0, path};
        s.is = state::connected;
        return 0;
    }
    if (s.is != state::fresh) return -EISCONN;
    if (other == nullptr) return -ENOENT;
    if (other->is != state::listening) return -ECONNREFUSED;
    if (other->queue.size() >= other->backlog) return -EAGAIN;
    auto [there, back] = new_stream(s.host, s.host, true);
    there->is_accepted = false;
    there->writer = back->reader = s.serial;
    s.peer = other->own;
    s.out = there;
    s.in = back;
    s.is = state::connected;
    other->queue.push_back({s.own, there, back, {}});
    edge(*other, poll_bits::readable);
    return 0;
}

int64_t simulated_network::send(int fd, const iovec* from, std::size_t count_of) noexcept {
    sock* s = of(fd);
    if (s == nullptr) return -EBADF;
    if (s->is == state::dead) return -ECONNABORTED;
    if (s->error != 0) return -std::exchange(s->error, 0);
    if (s->type == SOCK_DGRAM) {
        if (s->is != state::connected) return -EDESTADDRREQ;
        return send_datagram(*s, joined(from, count_of, SIZE_MAX), s->peer);
    }
    if (s->is == state::connecting) return -EAGAIN;
    if (s->is != state::connected) return -ENOTCONN;
    const flow_ptr f = s->out;
    if (f->ends || f->is_reset) return -EPIPE;
    const std::size_t used = f->bytes_on_way + f->available();
    if (used >= options.window) {
        f->writer_waits = true;
        return -EAGAIN;
    }
    segment made{.bytes = joined(from, count_of, options.window - used)};
    const auto moved = static_cast<int64_t>(made.bytes.size());
    if (static_cast<std::size_t>(moved) < total(from, count_of)) f->writer_waits = true;
    if (moved != 0) send_segment(f, std::move(made));
    return moved;
}

int64_t simulated_network::receive(int fd, const iovec* into, std::size_t count_of) noexcept {
    sock* s = of(fd);
    if (s == nullptr) return -EBADF;
    if (s->is == state::dead) return -ECONNABORTED;
    if (s->error != 0) return -std::exchange(s->error, 0);
    if (s->type == SOCK_DGRAM) {
        bool cut = false;
        uint32_t none = 0;
        return receive_from(fd, into[0].iov_base, into[0].iov_len, nullptr, none, cut);
    }
    if (s->is == state::connecting) return -EAGAIN;
    if (s->is != state::connected) return -ENOTCONN;
    flow& f = *s->in;
    std::size_t moved = 0;
    for (std::size_t i = 0; i < count_of && f.available() != 0; ++i) {
        const std::size_t n = std::min(into[i].iov_len, f.available());
        std::memcpy(into[i].iov_base, f.unread.data() + f.read, n);
        f.read += n;
        moved += n;
    }
    if (moved != 0) {
        if (std::exchange(f.writer_waits, false)) edge(f.writer, poll_bits::writable);
        return static_cast<int64_t>(moved);
    }
    return f.ended || f.is_reset || s->reads_no_more ? 0 : -EAGAIN;
}

int simulated_network::shut(int fd, int how) noexcept {
    sock* s = of(fd);
    if (s == nullptr) return -EBADF;
    if (s->is != state::connected) return -ENOTCONN;
    if (how != SHUT_WR) s->reads_no_more = true;
    if (how != SHUT_RD && s->out && !std::exchange(s->out->ends, true))
        send_segment(s->out, {.bytes = {}, .ends = true});
    return 0;
}

int simulated_network::close(int fd) noexcept {
    sock* s = of(fd);
    if (s == nullptr) return -EBADF;
    unbind(*s);
    by_serial_.erase(s->serial);
    s->serial = 0;
    s->is_watched = false;
    const std::deque<arrival> waiting = std::exchange(s->queue, {});
    const flow_ptr in = std::exchange(s->in, nullptr);
    const flow_ptr out = std::exchange(s->out, nullptr);
    const bool is_dead = s->is == state::dead;
    free_.push_back(fd - first_);
    if (is_dead) return 0;
    for (const arrival& a : waiting) {  // a listener's
        if (!a.out) continue;
        a.in->is_accepted = true;
        send_segment(a.out, {.bytes = {}, .resets = true});
    }
    if (!out) return 0;
    if (in->available() != 0 || in->bytes_on_way != 0) {
        out->on_way.clear();
        out->bytes_on_way = 0;
        send_segment(out, {.bytes = {}, .resets = true});
    } else if (!out->ends && !out->is_reset) {
        out->ends = true;
        send_segment(out, {.bytes = {}, .ends = true});
    }
    return 0;
}

// ---- Datagrams.

int64_t simulated_network::send_to(
    int fd, const void* data, std::size_t size, const sockaddr* to, uint32_t to_size) noexcept {
    sock* s = of(fd);
    if (s == nullptr) return -EBADF;
    if (s->is == state::dead) return -ECONNABORTED;
    if (s->error != 0) return -std::exchange(s->error, 0);
    std::string bytes(static_cast<const char*>(data), size);
    if (to == nullptr) {
        if (s->is != state::connected) return s->family == AF_UNIX ? -ENOTCONN : -EDESTADDRREQ;
        return send_datagram(*s, std::move(bytes), s->peer);
    }
    const socket_address a = read_address(to, to_size);
    if (s->family == AF_UNIX) return send_datagram(*s, std::move(bytes), {{}, 0, path_of(a.to_unix_address())});
    const std::optional<endpoint> e = a.to_endpoint();
    if (!e) return -EAFNOSUPPORT;
    return send_datagram(*s, std::move(bytes), {bytes_of(*e), e->port(), {}});
}

int64_t simulated_network::send_datagram(sock& s, std::string bytes, const place& to) {
    const auto size = static_cast<int64_t>(bytes.size());
    if (s.family == AF_UNIX) {
        sock* other = s.out ? with_serial(s.out->reader) : bound_to(s.host, SOCK_DGRAM, to.path);
        if (other == nullptr) return s.out || s.is == state::connected ? -ECONNREFUSED : -ENOENT;
        if (other->queue.size() >= unix_datagrams_max) return -EAGAIN;
        other->queue.push_back({s.own, nullptr, nullptr, std::move(bytes)});
        edge(*other, poll_bits::readable);
        return size;
    }
    if (bytes.size() > datagram_size_max) return -EMSGSIZE;
    const std::optional<unsigned> host = computers.find(to.address, s.host);
    if (!host) return -ENETUNREACH;
    if (!s.is_bound) {
        const bool is_near = is_loopback(to.address) || is_any(to.address);
        const ip own = is_near ? mapped({127, 0, 0, 1}) : mapped(hosts::address(s.host));
        if (const int result = bind_to_any_port(s, own); result < 0) return result;
    }
    place from = s.own;
    if (is_any(from.address)) from.address = is_loopback(to.address) ? to.address : mapped(hosts::address(s.host));
    const int copies = happens(options.duplication) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
        events.add(now_ns() + delay(), [this, sender = s.serial, from_host = s.host, to_host = *host, from, to, bytes] {
            deliver_datagram(sender, from_host, to_host, from, to, bytes);
        });
    }
    return size;
}

void simulated_network::deliver_datagram(uint64_t sender,
                                         unsigned from_host,
                                         unsigned to_host,
                                         const place& from,
                                         const place& to,
                                         const std::string& bytes) {
    if (!arrives(from_host, to_host, options.loss)) return;
    sock* s = bound_to(to_host, SOCK_DGRAM, to.address, to.port, from.port);
    if (s == nullptr) {
        events.add(now_ns() + delay(), [this, sender, from_host, to_host] {
            sock* client = with_serial(sender);
            if (client == nullptr || client->is != state::connected || !arrives(to_host, from_host, 0)) return;
            client->error = ECONNREFUSED;
            edge(*client, poll_bits::readable | poll_bits::writable | poll_bits::hung_up);
        });
        return;
    }
    const bool is_wanted = s->is != state::connected || (s->peer.address == from.address && s->peer.port == from.port);
    if (!is_wanted || s->queued_bytes + bytes.size() > datagram_bytes_max) {
        ++count.lost;
        return;
    }
    s->queued_bytes += bytes.size();
    count.bytes += bytes.size();
    s->queue.push_back({from, nullptr, nullptr, bytes});
    edge(*s, poll_bits::readable);
}

int64_t simulated_network::receive_from(
    int fd, void* into, std::size_t size, sockaddr* from, uint32_t& from_size, bool& cut) noexcept {
    sock* s = of(fd);
    if (s == nullptr) return -EBADF;
    if (s->is == state::dead) return -ECONNABORTED;
    if (s->error != 0) return -std::exchange(s->error, 0);
    if (s->queue.empty()) return s->reads_no_more ? 0 : -EAGAIN;
    const arrival a = std::move(s->queue.front());
    s->queue.pop_front();
    s->queued_bytes -= std::min(s->queued_bytes, a.bytes.size());
    cut = a.bytes.size() > size;
    const std::size_t moved = std::min(size, a.bytes.size());
    std::memcpy(into, a.bytes.data(), moved);
    if (from != nullptr) {
        const net::unix_address none;
        socket_address name(none);
        if (s->family != AF_UNIX) {
            name = socket_address(endpoint_of(s->family, a.from.address, a.from.port));
        } else if (!a.from.path.empty()) {
            name = socket_address(a.from.path.front() == '\0'
                                      ? net::unix_address::abstract_name(std::string_view(a.from.path).substr(1))
                                      : net::unix_address(a.from.path));
        }
        std::memcpy(from, &name.storage, std::min(from_size, name.size));
        from_size = name.size;
    }
    return static_cast<int64_t>(moved);
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
            if (a.in) a.in->is_accepted = true;  // by nobody
        }
        s.queue.clear();
        s.in = s.out = nullptr;
        s.is = state::dead;
        edge(s, poll_bits::readable | poll_bits::writable | poll_bits::hung_up);
    }
    computers.crash(host);
}

void simulated_network::restart(unsigned host) { computers.restart(host); }

}  // namespace weft::sim
