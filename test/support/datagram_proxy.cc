#include "datagram_proxy.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "random.h"
#include "system_sockets.h"

namespace weft::test {

namespace {

using steady = std::chrono::steady_clock;
using std::chrono::microseconds;

void require(bool holds, const char* what) {
    if (holds) return;
    std::perror(what);
    std::abort();
}

sockaddr_in here(uint16_t port) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(port);
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return in;
}

int new_socket() {
    const int fd = sys::socket(AF_INET, SOCK_DGRAM);
    require(fd >= 0 && sys::set_nonblocking(fd), "datagram_proxy: socket");
    return fd;
}

}  // namespace

class datagram_proxy::loop {
public:
    loop(uint16_t server, datagram_weather w) : server_(server), weather_(w), random_(w.seed) {
        require(wakes_.other >= 0, "datagram_proxy: pair");
        sockaddr_in in = here(0);
        socklen_t size = sizeof(in);
        require(::bind(sys::handle(front_), reinterpret_cast<sockaddr*>(&in), size) == 0, "datagram_proxy: bind");
        require(::getsockname(sys::handle(front_), reinterpret_cast<sockaddr*>(&in), &size) == 0,
                "datagram_proxy: getsockname");
        port_ = ntohs(in.sin_port);
    }

    loop(const loop&) = delete;
    loop& operator=(const loop&) = delete;

    ~loop() {
        for (const auto& [client, fd] : backs_) sys::close(fd);
        sys::close(front_);
        sys::close(wakes_.one);
        sys::close(wakes_.other);
    }

    void run() {
        std::vector<sys::poll_entry> all;
        for (;;) {
            std::chrono::nanoseconds left = std::chrono::hours(1);
            {
                const std::scoped_lock hold(mutex_);
                if (stopping_) return;
                take_from_clients();
                for (const auto& [client, fd] : backs_) take_from_server(client, fd);
                send_what_is_due();
                all = {sys::entry(wakes_.other, POLLIN), sys::entry(front_, POLLIN)};
                for (const auto& [client, fd] : backs_) all.push_back(sys::entry(fd, POLLIN));
                if (!held_.empty()) left = held_.begin()->first - steady::now();
            }
            sys::poll(all, left);
        }
    }

    void set_partitioned(bool to) {
        const std::scoped_lock hold(mutex_);
        partitioned_ = to;
    }

    void stop() {
        const std::scoped_lock hold(mutex_);
        stopping_ = true;
        const char any = 0;
        require(sys::send(wakes_.one, &any, 1) == 1, "datagram_proxy: wake");
    }

    [[nodiscard]] books now() const {
        const std::scoped_lock hold(mutex_);
        return books_;
    }

    [[nodiscard]] uint16_t port() const { return port_; }

private:
    struct datagram {
        std::string bytes;
        uint16_t client = 0;  // the client's port
        bool up = false;
        int number = 0;  // in order of arrival
    };

    void take_from_clients() {
        std::array<char, 65536> b;
        for (;;) {
            sockaddr_in from{};
            const std::ptrdiff_t n = sys::recv_from(front_, b.data(), b.size(), from);
            if (n < 0) return;
            hold({std::string(b.data(), static_cast<std::size_t>(n)), ntohs(from.sin_port), true, 0});
        }
    }

    void take_from_server(uint16_t client, int fd) {
        std::array<char, 65536> b;
        for (;;) {
            const std::ptrdiff_t n = sys::recv(fd, b.data(), b.size());
            if (n < 0) return;  // also if the peer's port is closed
            hold({std::string(b.data(), static_cast<std::size_t>(n)), client, false, 0});
        }
    }

    bool drawn(int one_in) { return one_in != 0 && random_.one_in(one_in); }

    void hold(datagram d) {
        d.number = books_.taken++;
        if (partitioned_ || drawn(weather_.lose_one_in)) {
            ++books_.lost;
            return;
        }
        if (!d.bytes.empty() && drawn(weather_.damage_one_in)) {
            d.bytes.back() = static_cast<char>(d.bytes.back() ^ 0x20);
            ++books_.damaged;
        }
        if (drawn(weather_.double_one_in)) {
            ++books_.doubled;
            held_.emplace(due(), d);
        }
        held_.emplace(due(), std::move(d));
    }

    steady::time_point due() {
        const auto most = static_cast<int>(weather_.jitter.count());
        return steady::now() + weather_.delay + microseconds(most == 0 ? 0 : random_.below(most + 1));
    }

    void send_what_is_due() {
        const auto now = steady::now();
        while (!held_.empty() && held_.begin()->first <= now) {
            const datagram d = std::move(held_.begin()->second);
            held_.erase(held_.begin());
            if (d.up) {
                const std::ptrdiff_t n = sys::send(back_of(d.client), d.bytes.data(), d.bytes.size());
                books_.passed += n >= 0 ? 1 : 0;
            } else {
                const std::ptrdiff_t n = sys::send_to(front_, d.bytes.data(), d.bytes.size(), here(d.client));
                books_.passed += n >= 0 ? 1 : 0;
            }
            int& latest = latest_[{d.client, d.up}];
            books_.overtaken += d.number < latest ? 1 : 0;
            latest = std::max(latest, d.number);
        }
    }

    int back_of(uint16_t client) {
        const auto found = backs_.find(client);
        if (found != backs_.end()) return found->second;
        const int fd = new_socket();
        const sockaddr_in to = here(server_);
        require(::connect(sys::handle(fd), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0,
                "datagram_proxy: connect");
        backs_.emplace(client, fd);
        return fd;
    }

    const uint16_t server_;
    const datagram_weather weather_;
    const int front_ = new_socket();
    const sys::connected_pair wakes_ = sys::connect_pair();
    uint16_t port_ = 0;

    mutable std::mutex mutex_;
    // Guarded by mutex_.
    prng random_;
    std::map<uint16_t, int> backs_;  // by client port
    std::multimap<steady::time_point, datagram> held_;
    std::map<std::pair<uint16_t, bool>, int> latest_;  // of those sent: the latest to arrive
    books books_;
    bool partitioned_ = false;
    bool stopping_ = false;
};

datagram_proxy::datagram_proxy(uint16_t server, datagram_weather w)
    : loop_(std::make_unique<loop>(server, w)), thread_([this] { loop_->run(); }) {}

datagram_proxy::~datagram_proxy() {
    loop_->stop();
    thread_.join();
}

uint16_t datagram_proxy::port() const noexcept { return loop_->port(); }

void datagram_proxy::partition() { loop_->set_partitioned(true); }

void datagram_proxy::heal() { loop_->set_partitioned(false); }

datagram_proxy::books datagram_proxy::now() const { return loop_->now(); }

}  // namespace weft::test
