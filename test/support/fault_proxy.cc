#include "fault_proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <mutex>
#include <vector>

#include "random.h"

// Newer than some systems' headers.
#ifndef SIOCOUTQ
#define SIOCOUTQ 0x5411
#endif

namespace weft::test {

namespace {

using steady = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr std::size_t most_held = 64 * 1024;      // bytes of a direction
constexpr int socket_buffer = 32 * 1024;          // as make_buffers_small()
constexpr microseconds until_delivered(300'000);  // the longest that a reset waits for a reader
constexpr microseconds delivery_look(500);        // … and the interval of its checks
constexpr auto far_away = std::chrono::hours(1);

void require(bool holds, const char* what) {
    if (holds) return;
    std::perror(what);
    std::abort();
}

// ---- Sockets.

struct address {
    sockaddr_storage bytes{};
    socklen_t size = 0;
};

address address_of(const fault_proxy::place& p) {
    address a;
    if (p.name.empty()) {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_port = htons(p.port);
        in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        std::memcpy(&a.bytes, &in, sizeof(in));
        a.size = sizeof(in);
        return a;
    }
    sockaddr_un un{};
    un.sun_family = AF_UNIX;
    require(p.name.size() < sizeof(un.sun_path), "fault_proxy: a name that is too long");
    std::memcpy(un.sun_path + 1, p.name.data(), p.name.size());
    std::memcpy(&a.bytes, &un, sizeof(un));
    a.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + p.name.size());
    return a;
}

int new_socket(const fault_proxy::place& like) {
    const int fd = ::socket(like.name.empty() ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(fd >= 0, "fault_proxy: socket");
    // Before listen or connect, so that both ends agree on the small window.
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &socket_buffer, sizeof(socket_buffer));
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &socket_buffer, sizeof(socket_buffer));
    return fd;
}

timespec timespec_of(std::chrono::nanoseconds t) {
    const auto ns = std::max<int64_t>(t.count(), 0);
    return {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
}

void prepare(int fd) {
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));  // fails for a Unix socket
    require(::fcntl(fd, F_SETFL, O_NONBLOCK) == 0, "fault_proxy: fcntl");
}

// Whether fd can be closed without waiting: everything has arrived, or never will, or is kept (Unix
// sockets).
bool is_delivered(int fd) {
    int domain = AF_UNIX;
    socklen_t size = sizeof(domain);
    if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain == AF_UNIX) return true;
    pollfd gone{fd, 0, 0};
    if (::poll(&gone, 1, 0) == 1) return true;
    int waiting = 0;
    return ::ioctl(fd, SIOCOUTQ, &waiting) != 0 || waiting == 0;
}

void close_with_reset(int fd) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    ::close(fd);
}

// ---- One direction of a connection.

enum class progress { going_on, broken };

class direction {
public:
    direction(int from, int to, const weather& w, uint64_t seed) : from_(from), to_(to), weather_(w), random_(seed) {}

    // Reads what has come, and passes on what is due.
    progress step(steady::time_point now) {
        if (!take(now)) return progress::broken;
        return pass_on(now) ? progress::going_on : progress::broken;
    }

    [[nodiscard]] uint64_t passed() const { return passed_; }

    [[nodiscard]] bool has_ended() const { return end_passed_; }

    [[nodiscard]] bool has_met_its_fate() const { return weather_.then != fate::none && passed_ >= weather_.after; }

    [[nodiscard]] fate then() const { return weather_.then; }

    [[nodiscard]] bool wants_to_read() const { return !end_seen_ && held_ < most_held; }

    [[nodiscard]] bool wants_to_write(steady::time_point now) const {
        return blocked_ && !pieces_.empty() && ready_at() <= now;
    }

    // The next step that no descriptor announces.
    [[nodiscard]] steady::time_point due() const {
        return pieces_.empty() || blocked_ ? steady::time_point::max() : ready_at();
    }

private:
    struct piece {
        steady::time_point due;
        std::string bytes;
        std::size_t at = 0;  // bytes passed on
        bool is_end = false;
    };

    [[nodiscard]] steady::time_point ready_at() const { return std::max(pieces_.front().due, next_); }

    bool take(steady::time_point now) {
        std::array<char, 16 * 1024> b;
        while (wants_to_read()) {
            const ssize_t n = ::recv(from_, b.data(), std::min(b.size(), most_held - held_), 0);
            if (n < 0) return errno == EAGAIN || errno == EINTR;
            end_seen_ = n == 0;
            for (ssize_t i = 0; i < n; ++i) {
                if (taken_ + static_cast<uint64_t>(i) == weather_.corrupt_at) b[static_cast<std::size_t>(i)] ^= 0x20;
            }
            taken_ += static_cast<uint64_t>(n);
            held_ += static_cast<std::size_t>(n);
            pieces_.push_back({due_of_new(now), std::string(b.data(), static_cast<std::size_t>(n)), 0, n == 0});
        }
        return true;
    }

    steady::time_point due_of_new(steady::time_point now) {
        steady::time_point due = now + weather_.delay;
        if (weather_.jitter.count() != 0) {
            due += microseconds(random_.below(static_cast<int>(weather_.jitter.count()) + 1));
        }
        if (weather_.tick.count() != 0) due += weather_.tick - due.time_since_epoch() % weather_.tick;
        last_due_ = std::max(last_due_, due);
        return last_due_;
    }

    bool pass_on(steady::time_point now) {
        blocked_ = false;
        while (!pieces_.empty() && ready_at() <= now && !has_met_its_fate()) {
            gather(now);
            piece& first = pieces_.front();
            if (first.is_end) {
                if (::shutdown(to_, SHUT_WR) != 0) return false;
                end_passed_ = true;
                pieces_.pop_front();
                continue;
            }
            const std::size_t most = std::min({first.bytes.size() - first.at, weather_.piece, until_fate()});
            const ssize_t n = ::send(to_, first.bytes.data() + first.at, most, MSG_NOSIGNAL);
            if (n < 0) {
                blocked_ = errno == EAGAIN;
                return blocked_ || errno == EINTR;
            }
            has_passed(static_cast<std::size_t>(n), now);
        }
        return true;
    }

    // Merges pieces that are due together.
    void gather(steady::time_point now) {
        while (pieces_.size() > 1 && !pieces_[1].is_end && pieces_[1].due <= now) {
            pieces_[0].bytes += pieces_[1].bytes;
            pieces_.erase(pieces_.begin() + 1);
        }
    }

    [[nodiscard]] std::size_t until_fate() const {
        return weather_.then == fate::none ? SIZE_MAX : weather_.after - passed_;
    }

    void has_passed(std::size_t n, steady::time_point now) {
        piece& first = pieces_.front();
        first.at += n;
        if (first.at == first.bytes.size()) pieces_.pop_front();
        held_ -= n;
        const uint64_t before = passed_;
        passed_ += n;
        if (weather_.rate != 0) next_ = now + microseconds(n * 1'000'000 / weather_.rate);
        if (weather_.stall_every != 0 && before / weather_.stall_every != passed_ / weather_.stall_every) {
            next_ = now + weather_.stall;
        }
    }

    const int from_;
    const int to_;
    const weather weather_;
    prng random_;

    std::deque<piece> pieces_;
    std::size_t held_ = 0;  // bytes in pieces_
    uint64_t taken_ = 0;
    uint64_t passed_ = 0;
    bool end_seen_ = false;
    bool end_passed_ = false;
    bool blocked_ = false;           // to_ is full
    steady::time_point last_due_{};  // keeps later pieces in order
    steady::time_point next_{};      // no piece is passed on before
};

// ---- A connection.

// Reads and discards everything. False: the end, or an error.
bool drain(int fd) {
    std::array<char, 16 * 1024> b;
    for (;;) {
        const ssize_t n = ::recv(fd, b.data(), b.size(), 0);
        if (n <= 0) return n < 0 && (errno == EAGAIN || errno == EINTR);
    }
}

class connection {
public:
    connection(int client, int server, const fault_plan& plan)
        : client_(client),
          server_(server),
          up_(client, server, plan.up, plan.seed),
          down_(server, client, plan.down, ~plan.seed) {}

    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    ~connection() { close(); }

    // Does all possible steps. False: it is over.
    [[nodiscard]] bool step(steady::time_point now, fault_proxy::books& books) {
        if (state_ == fate::none) pass(now, books);
        if (state_ == fate::reset && (now >= reset_at_ || (is_delivered(client_) && is_delivered(server_)))) {
            close_with_reset(client_);
            close_with_reset(server_);
            client_ = server_ = -1;
        }
        if (state_ == fate::cut || state_ == fate::swallow) {
            client_drained_ = client_drained_ || !drain(client_);
            server_drained_ = server_drained_ || !drain(server_);
            if (client_drained_ && server_drained_) close();
        }
        return client_ >= 0;
    }

    // Overrides the plan.
    void meet_now(fate f, fault_proxy::books& books) {
        if (state_ != fate::none) return;
        meet(f, steady::now());
        ++books.fated;
        --books.open;
    }

    // Adds what poll() must wait for, and until when.
    void wait_for(steady::time_point now, std::vector<pollfd>& all, steady::time_point& until) const {
        if (state_ == fate::ignore) return;
        if (state_ == fate::reset) {
            until = std::min({until, reset_at_, now + delivery_look});
            return;
        }
        short client = 0;
        short server = 0;
        const auto ask = [](short& events, bool wanted, short event) {
            events = static_cast<short>(wanted ? events | event : events);
        };
        const bool passes = state_ == fate::none;
        ask(client, passes ? up_.wants_to_read() : !client_drained_, POLLIN);
        ask(server, passes ? down_.wants_to_read() : !server_drained_, POLLIN);
        ask(client, passes && down_.wants_to_write(now), POLLOUT);
        ask(server, passes && up_.wants_to_write(now), POLLOUT);
        if (client != 0) all.push_back({client_, client, 0});
        if (server != 0) all.push_back({server_, server, 0});
        if (passes) until = std::min({until, up_.due(), down_.due()});
    }

private:
    void pass(steady::time_point now, fault_proxy::books& books) {
        const uint64_t up_before = up_.passed();
        const uint64_t down_before = down_.passed();
        const bool goes_on = up_.step(now) == progress::going_on && down_.step(now) == progress::going_on;
        books.up += up_.passed() - up_before;
        books.down += down_.passed() - down_before;
        const fate now_is = up_.has_met_its_fate() ? up_.then() : down_.has_met_its_fate() ? down_.then() : fate::none;
        if (now_is != fate::none) {
            meet(now_is, now);
            ++books.fated;
            --books.open;
        } else if (!goes_on) {  // the other end gets a reset, as from a network
            meet(fate::reset, now);
            ++books.broken;
            --books.open;
        } else if (up_.has_ended() && down_.has_ended()) {
            close();
            ++books.ended;
            --books.open;
        }
    }

    void meet(fate f, steady::time_point now) {
        state_ = f;
        reset_at_ = now + until_delivered;
        if (f != fate::cut) return;
        ::shutdown(client_, SHUT_WR);
        ::shutdown(server_, SHUT_WR);
    }

    void close() {
        if (client_ < 0) return;
        ::close(client_);
        ::close(server_);
        client_ = server_ = -1;
    }

    int client_;  // both are -1 when closed
    int server_;
    direction up_;
    direction down_;
    fate state_ = fate::none;
    steady::time_point reset_at_{};
    bool client_drained_ = false;
    bool server_drained_ = false;
};

}  // namespace

// ---- All connections.

class fault_proxy::loop {
public:
    loop(place server, plans plan) : server_(std::move(server)), plan_(std::move(plan)) {
        listener_ = new_socket(server_);
        if (!server_.name.empty()) {
            static std::atomic<int> number = 0;
            at_.name = "weft_fault_proxy_" + std::to_string(::getpid()) + '_' + std::to_string(++number);
        }
        address a = address_of(at_);
        require(::bind(listener_, reinterpret_cast<sockaddr*>(&a.bytes), a.size) == 0, "fault_proxy: bind");
        require(::listen(listener_, 4096) == 0, "fault_proxy: listen");
        require(::fcntl(listener_, F_SETFL, O_NONBLOCK) == 0, "fault_proxy: fcntl");
        if (server_.name.empty()) {
            sockaddr_in in{};
            socklen_t size = sizeof(in);
            require(::getsockname(listener_, reinterpret_cast<sockaddr*>(&in), &size) == 0, "fault_proxy: getsockname");
            at_.port = ntohs(in.sin_port);
        }
        require(wake_ >= 0, "fault_proxy: eventfd");
    }

    loop(const loop&) = delete;
    loop& operator=(const loop&) = delete;

    ~loop() {
        ::close(listener_);
        ::close(wake_);
    }

    void run() {
        std::vector<pollfd> all;
        for (;;) {
            timespec left{};
            {
                const std::scoped_lock hold(mutex_);
                if (stopping_) return;
                const auto now = steady::now();
                auto until = now + far_away;
                all.assign(1, {wake_, POLLIN, 0});
                if (!partitioned_) {
                    accept_all();
                    all.push_back({listener_, POLLIN, 0});
                    open_.remove_if([&](connection& c) { return !c.step(now, books_); });
                    for (const connection& c : open_) c.wait_for(now, all, until);
                }
                left = timespec_of(until - steady::now());
            }
            ::ppoll(all.data(), all.size(), &left, nullptr);
            uint64_t ignored = 0;
            if ((all[0].revents & POLLIN) != 0) static_cast<void>(::read(wake_, &ignored, sizeof(ignored)) == 0);
        }
    }

    void set_partitioned(bool to) {
        const std::scoped_lock hold(mutex_);
        partitioned_ = to;
        wake();
    }

    void all_meet(fate f) {
        const std::scoped_lock hold(mutex_);
        for (connection& c : open_) c.meet_now(f, books_);
        wake();
    }

    void stop() {
        const std::scoped_lock hold(mutex_);
        stopping_ = true;
        wake();
    }

    [[nodiscard]] books now() const {
        const std::scoped_lock hold(mutex_);
        return books_;
    }

    [[nodiscard]] const place& at() const { return at_; }

private:
    void wake() const {
        const uint64_t one = 1;
        require(::write(wake_, &one, sizeof(one)) == sizeof(one), "fault_proxy: wake");
    }

    void accept_all() {
        for (;;) {
            const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
            if (client < 0) return;
            const fault_plan plan = plan_(books_.accepted++);
            const int server = new_socket(server_);
            address a = address_of(server_);
            if (::connect(server, reinterpret_cast<sockaddr*>(&a.bytes), a.size) != 0) {
                ++books_.refused;
                close_with_reset(client);
                ::close(server);
                continue;
            }
            ++books_.open;
            prepare(client);
            prepare(server);
            open_.emplace_back(client, server, plan);
        }
    }

    const place server_;
    place at_;
    const plans plan_;
    int listener_ = -1;
    const int wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    mutable std::mutex mutex_;
    // Guarded by mutex_.
    std::list<connection> open_;
    books books_;
    bool partitioned_ = false;
    bool stopping_ = false;
};

fault_proxy::fault_proxy(place server, plans plan)
    : loop_(std::make_unique<loop>(std::move(server), std::move(plan))), thread_([this] { loop_->run(); }) {}

fault_proxy::~fault_proxy() {
    loop_->stop();
    thread_.join();
}

const fault_proxy::place& fault_proxy::at() const noexcept { return loop_->at(); }

void fault_proxy::partition() { loop_->set_partitioned(true); }

void fault_proxy::heal() { loop_->set_partitioned(false); }

void fault_proxy::all_meet(fate f) { loop_->all_meet(f); }

fault_proxy::books fault_proxy::now() const { return loop_->now(); }

}  // namespace weft::test
