#include "fault_proxy.h"

#include <unistd.h>
#if !defined(_WIN32)
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#endif

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
#include "system_sockets.h"

// Newer than some systems' headers.
#if !defined(_WIN32) && !defined(SIOCOUTQ)
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

// Of an abstract name.
#if defined(_WIN32)
socklen_t fill_unix_address(sockaddr_storage& /*into*/, const std::string& /*name*/) {
    require(false, "fault_proxy: this system has no abstract names");
    return 0;
}
#else
socklen_t fill_unix_address(sockaddr_storage& into, const std::string& name) {
    sockaddr_un un{};
    un.sun_family = AF_UNIX;
    require(name.size() < sizeof(un.sun_path), "fault_proxy: a name that is too long");
    std::memcpy(un.sun_path + 1, name.data(), name.size());
    std::memcpy(&into, &un, sizeof(un));
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}
#endif

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
    a.size = fill_unix_address(a.bytes, p.name);
    return a;
}

int new_socket(const fault_proxy::place& like) {
    const int fd = sys::socket(like.name.empty() ? AF_INET : AF_UNIX, SOCK_STREAM);
    require(fd >= 0, "fault_proxy: socket");
    // Before listen or connect, so that both ends agree on the small window.
    sys::set_option(fd, SOL_SOCKET, SO_SNDBUF, socket_buffer);
    sys::set_option(fd, SOL_SOCKET, SO_RCVBUF, socket_buffer);
    return fd;
}

void prepare(int fd) {
    const int on = 1;
    sys::set_option(fd, IPPROTO_TCP, TCP_NODELAY, on);  // fails for a Unix socket
    require(sys::set_nonblocking(fd), "fault_proxy: set_nonblocking");
}

// Whether fd can be closed without waiting: everything has arrived, or never will, or is kept (Unix
// sockets).
#if defined(_WIN32)
bool is_delivered(int /*fd*/) { return false; }  // not known, so a reset waits for until_delivered
#else
bool is_delivered(int fd) {
    int domain = AF_UNIX;
    socklen_t size = sizeof(domain);
    if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain == AF_UNIX) return true;
    pollfd gone{fd, 0, 0};
    if (::poll(&gone, 1, 0) == 1) return true;
    int waiting = 0;
    return ::ioctl(fd, SIOCOUTQ, &waiting) != 0 || waiting == 0;
}
#endif

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
            const std::ptrdiff_t n = sys::recv(from_, b.data(), std::min(b.size(), most_held - held_));
            if (n < 0) return sys::may_try_again();
            end_seen_ = n == 0;
            for (std::ptrdiff_t i = 0; i < n; ++i) {
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
                if (sys::shutdown_sending(to_) != 0) return false;
                end_passed_ = true;
                pieces_.pop_front();
                continue;
            }
            const std::size_t most = std::min({first.bytes.size() - first.at, weather_.piece, until_fate()});
            const std::ptrdiff_t n = sys::send(to_, first.bytes.data() + first.at, most);
            if (n < 0) {
                blocked_ = sys::is_full();
                return sys::may_try_again();
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
        const std::ptrdiff_t n = sys::recv(fd, b.data(), b.size());
        if (n <= 0) return n < 0 && sys::may_try_again();
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
            sys::close_with_reset(client_);
            sys::close_with_reset(server_);
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
    void wait_for(steady::time_point now, std::vector<sys::poll_entry>& all, steady::time_point& until) const {
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
        if (client != 0) all.push_back(sys::entry(client_, client));
        if (server != 0) all.push_back(sys::entry(server_, server));
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
        sys::shutdown_sending(client_);
        sys::shutdown_sending(server_);
    }

    void close() {
        if (client_ < 0) return;
        sys::close(client_);
        sys::close(server_);
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
        require(::bind(sys::handle(listener_), reinterpret_cast<sockaddr*>(&a.bytes), a.size) == 0,
                "fault_proxy: bind");
        require(::listen(sys::handle(listener_), 4096) == 0, "fault_proxy: listen");
        require(sys::set_nonblocking(listener_), "fault_proxy: set_nonblocking");
        if (server_.name.empty()) {
            sockaddr_in in{};
            socklen_t size = sizeof(in);
            require(::getsockname(sys::handle(listener_), reinterpret_cast<sockaddr*>(&in), &size) == 0,
                    "fault_proxy: getsockname");
            at_.port = ntohs(in.sin_port);
        }
        require(wakes_.other >= 0 && sys::set_nonblocking(wakes_.other), "fault_proxy: pair");
    }

    loop(const loop&) = delete;
    loop& operator=(const loop&) = delete;

    ~loop() {
        sys::close(listener_);
        sys::close(wakes_.one);
        sys::close(wakes_.other);
    }

    void run() {
        std::vector<sys::poll_entry> all;
        for (;;) {
            std::chrono::nanoseconds left{};
            {
                const std::scoped_lock hold(mutex_);
                if (stopping_) return;
                const auto now = steady::now();
                auto until = now + far_away;
                all.assign(1, sys::entry(wakes_.other, POLLIN));
                if (!partitioned_) {
                    accept_all();
                    all.push_back(sys::entry(listener_, POLLIN));
                    open_.remove_if([&](connection& c) { return !c.step(now, books_); });
                    for (const connection& c : open_) c.wait_for(now, all, until);
                }
                left = until - steady::now();
            }
            sys::poll(all, left);
            if ((all[0].revents & POLLIN) != 0) static_cast<void>(drain(wakes_.other));
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
        const char any = 0;
        require(sys::send(wakes_.one, &any, 1) == 1, "fault_proxy: wake");
    }

    void accept_all() {
        for (;;) {
            const int client = sys::accept(listener_);
            if (client < 0) return;
            const fault_plan plan = plan_(books_.accepted++);
            const int server = new_socket(server_);
            address a = address_of(server_);
            if (::connect(sys::handle(server), reinterpret_cast<sockaddr*>(&a.bytes), a.size) != 0) {
                ++books_.refused;
                sys::close_with_reset(client);
                sys::close(server);
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
    const sys::connected_pair wakes_ = sys::connect_pair();

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
