// simulated_streams.cc: streams of a simulated network: see simulated_network.h.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <weft/net/endpoint.h>

#include "base/time_units.h"
#include "net/socket_address.h"
#include "os/sockets.h"
#include "sim/controlled_run.h"
#include "sim/simulated_network.h"
#include "sim/socket_addresses.h"

namespace weft::sim {

namespace {

using net::endpoint;
using net::detail::socket_address;
using weft::detail::ns_per_s;
namespace poll_bits = weft::detail::poll_bits;

// As Linux: tcp_retries2, tcp_syn_retries.
constexpr int64_t first_pause_ns = ns_per_s / 5;
constexpr int64_t longest_pause_ns = 120 * ns_per_s;
constexpr int64_t stream_patience_ns = 924 * ns_per_s;
constexpr int64_t connect_pause_ns = ns_per_s;
constexpr int64_t connect_patience_ns = 127 * ns_per_s;

constexpr uint32_t split_once_in = 16;
constexpr uint32_t split_places = 1'000'000;
constexpr int64_t split_ns = 1'000;  // from the first part to the second

int64_t pause_after(unsigned tries, int64_t first_ns) noexcept {
    return tries >= 16 ? longest_pause_ns : std::min(first_ns << tries, longest_pause_ns);
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
        take(f, s);
        return;
    }
    int64_t leaves_ns = now_ns();
    if (options.bytes_per_second != 0) {
        leaves_ns = std::max(leaves_ns, f->free_ns);
        const double takes_s = static_cast<double>(s.bytes.size()) / static_cast<double>(options.bytes_per_second);
        f->free_ns = leaves_ns + static_cast<int64_t>(takes_s * static_cast<double>(ns_per_s));
        leaves_ns = f->free_ns;
    }
    s.due_ns = std::max(leaves_ns + delay(), f->last_ns);
    f->last_ns = s.due_ns;
    f->on_way.push_back(std::move(s));
    schedule(f, f->on_way.front().due_ns);
}

void simulated_network::schedule(const flow_ptr& f, int64_t due_ns) {
    if (std::exchange(f->is_scheduled, true)) return;
    events.add(std::max(now_ns(), due_ns), [this, f] { try_first(f); });
}

// The first segment of f reaches its end, or is lost on the way.
void simulated_network::try_first(const flow_ptr& f) {
    f->is_scheduled = false;
    if (f->on_way.empty()) return;  // the stream has been reset
    if (!arrives(f->from, f->to, options.loss)) {
        if (f->failing_ns == 0) f->failing_ns = now_ns();
        if (now_ns() - f->failing_ns > stream_patience_ns) {
            f->on_way.clear();
            if (sock* s = with_serial(f->writer)) break_stream(*s, ETIMEDOUT);
            return;
        }
        schedule(f, now_ns() + pause_after(f->losses++, first_pause_ns));
        return;
    }
    f->failing_ns = 0;
    f->losses = 0;
    segment& s = f->on_way.front();
    if (options.splits && s.bytes.size() > 1 && run_.draw(split_once_in) == split_once_in - 1) {
        const auto at = 1 + run_.draw(static_cast<uint32_t>(std::min<std::size_t>(s.bytes.size() - 1, split_places)));
        segment first{.bytes = s.bytes.substr(0, at)};
        s.bytes.erase(0, at);
        take(f, first);
        schedule(f, now_ns() + split_ns);
        return;
    }
    segment whole = std::move(s);
    f->on_way.pop_front();
    take(f, whole);
    if (!f->on_way.empty()) schedule(f, f->on_way.front().due_ns);
}

// s has arrived.
void simulated_network::take(const flow_ptr& f, segment& s) {
    f->bytes_on_way -= s.bytes.size();
    sock* reader = with_serial(f->reader);
    if (s.resets) {
        f->is_reset = true;
        f->on_way.clear();
        if (reader != nullptr) break_stream(*reader, ECONNRESET);
        return;
    }
    if (s.opens ? !enqueue(f, s.opens) : reader == nullptr && f->is_accepted) {
        f->on_way.clear();
        f->bytes_on_way = 0;
        if (!s.ends || !s.bytes.empty()) answer_with_reset(*f);
        return;
    }
    count.bytes += s.bytes.size();
    if (f->read == f->unread.size()) {
        f->unread.clear();
        f->read = 0;
    }
    f->unread += s.bytes;
    if (s.ends) f->ended = true;
    if (reader != nullptr) edge(*reader, s.ends ? poll_bits::readable | poll_bits::hung_up : poll_bits::readable);
}

// Into the queue of the listener for which f was opened. False: it has gone.
bool simulated_network::enqueue(const flow_ptr& f, const flow_ptr& back) {
    sock* listener = bound_to(f->to, SOCK_STREAM, f->server.address, f->server.port, f->client.port);
    if (listener == nullptr || listener->is != state::listening) {
        f->is_accepted = true;  // no socket will
        return false;
    }
    listener->queue.push_back({f->client, f, back, {}});
    edge(*listener, poll_bits::readable);
    return true;
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

int simulated_network::listen(int fd, int backlog) noexcept {
    sock* s = of(fd);
    if (s == nullptr) return -EBADF;
    if (s->type != SOCK_STREAM) return -EOPNOTSUPP;
    if (const int error = failure_of(s->host, socket_call::listen); error != 0) return -error;
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
    if (s->is == state::dead) return -EAGAIN;  // it is cancelled when it waits; it ignores ENETDOWN
    if (s->is != state::listening) return -EINVAL;
    if (s->queue.empty()) return -EAGAIN;
    if (const int error = failure_of(s->host, socket_call::accept); error != 0) return -error;
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
    if (const int error = failure_of(s->host, socket_call::connect); error != 0) return -error;
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
    there->client = std::move(from);
    there->server = std::move(to);
    events.add(now_ns() + delay(),
               [this, client, there, back, since_ns] { answer(client, there, back, 0, since_ns, 0); });
}

// The answer reaches the client. out and in: the stream, if error is 0.
void simulated_network::answer(
    uint64_t client, const flow_ptr& out, const flow_ptr& in, int error, int64_t since_ns, unsigned tries) {
    sock* c = with_serial(client);
    if (c == nullptr || c->is != state::connecting) {
        return;  // it has given up; the listener knows nothing yet
    }
    if (in && !arrives(in->from, in->to, options.loss)) {
        if (now_ns() - since_ns >= connect_patience_ns) {
            error = ETIMEDOUT;
        } else {
            events.add(now_ns() + pause_after(tries, connect_pause_ns),
                       [this, client, out, in, since_ns, tries] { answer(client, out, in, 0, since_ns, tries + 1); });
            return;
        }
    }
    c->error = error;
    c->is = error == 0 ? state::connected : state::fresh;
    if (error == 0) {
        c->out = out;
        c->in = in;
        send_segment(out, {.bytes = {}, .opens = in});
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
    if (const int error = failure_of(s->host, socket_call::send); error != 0) return -error;
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
    if (f.available() != 0)
        if (const int error = failure_of(s->host, socket_call::receive); error != 0) return -error;
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
    if (disks_.has(fd)) return disks_.close(fd);
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

}  // namespace weft::sim
