#include "load.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <random>
#include <string>

namespace bench::net {

namespace {

constexpr int64_t ns_per_ms = 1'000'000;
constexpr int64_t ns_per_s = 1'000'000'000;
constexpr int64_t patience_ns = 10 * ns_per_s;  // how long to wait for the last echoes

int64_t now_ns() {
    using namespace std::chrono;
    return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

class generator {
public:
    generator(const options& o, std::vector<connection>& connections)
        : o_(o), connections_(connections), epoll_(::epoll_create1(EPOLL_CLOEXEC)), is_open_(o.rate > 0) {
        for (std::size_t i = 0; i < connections.size(); ++i) watch(EPOLL_CTL_ADD, i, EPOLLIN);
    }

    generator(const generator&) = delete;
    generator& operator=(const generator&) = delete;

    ~generator() { ::close(epoll_); }

    load_result run() {
        const int64_t start = now_ns();
        measured_from_ = measured_to_ = start + o_.warmup_ms * ns_per_ms;
        next_due_ = start;
        if (!is_open_) {
            for (std::size_t i = 0; i < connections_.size(); ++i) request(i, start);
        }
        go_on_until(measured_from_);
        result_.before = read_usage(o_.server_pid);
        counting_ = true;
        measured_from_ = now_ns();  // later than planned, if the client had to wait for a CPU
        measured_to_ = measured_from_ + o_.ms * ns_per_ms;
        go_on_until(measured_to_);
        result_.after = read_usage(o_.server_pid);
        counting_ = false;
        result_.wall_ns = now_ns() - measured_from_;
        drain();
        return result_;
    }

private:
    void go_on_until(int64_t end) {
        for (int64_t now = now_ns(); now < end; now = now_ns()) {
            while (is_open_ && next_due_ <= now) send_next();
            take_echoes(is_open_ ? std::min(next_due_, end) : end);
        }
    }

    void drain() {
        stopped_ = true;
        const int64_t end = now_ns() + patience_ns;
        while (under_way_ > 0) {
            if (now_ns() > end) fail(std::to_string(under_way_) + " echoes have not come");
            take_echoes(end);
        }
    }

    void send_next() {
        if (next_due_ >= measured_from_) result_.sent_late.add(now_ns() - next_due_);
        request(turn_, next_due_);
        turn_ = (turn_ + 1) % connections_.size();
        next_due_ += static_cast<int64_t>(gap_(random_) * static_cast<double>(ns_per_s) / static_cast<double>(o_.rate));
    }

    void request(std::size_t i, int64_t due_ns) {
        ++under_way_;
        connections_[i].add_request(due_ns);
        send(i);
    }

    void send(std::size_t i) {
        if (!connections_[i].send()) watch(EPOLL_CTL_MOD, i, EPOLLIN | EPOLLOUT);
    }

    // Waits for the first event until then.
    void take_echoes(int64_t until) {
        static std::array<epoll_event, 512> events;
        const int64_t left = o_.spin ? 0 : std::max<int64_t>(0, until - now_ns());
        const timespec timeout{left / ns_per_s, left % ns_per_s};
        const int n = ::epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()), &timeout, nullptr);
        if (n < 0 && errno != EINTR) fail(std::string("epoll_pwait2: ") + std::strerror(errno));
        for (int e = 0; e < n; ++e) {
            const auto i = static_cast<std::size_t>(events[static_cast<std::size_t>(e)].data.u64);
            const uint32_t what = events[static_cast<std::size_t>(e)].events;
            if ((what & EPOLLOUT) != 0 && connections_[i].send()) watch(EPOLL_CTL_MOD, i, EPOLLIN);
            if ((what & ~uint32_t{EPOLLOUT}) == 0) continue;
            std::size_t echoes = 0;
            const int64_t now = now_ns();
            connections_[i].receive([&](int64_t due) {
                ++echoes;
                answered(due, now);
            });
            while (!is_open_ && !stopped_ && echoes-- != 0) request(i, now_ns());
        }
    }

    void answered(int64_t due, int64_t now) {
        --under_way_;
        ++result_.answered;
        if (counting_) ++result_.requests;
        if (due >= measured_from_ && due < measured_to_) result_.latency.add(now - due);
    }

    void watch(int how, std::size_t i, uint32_t what) {
        epoll_event event{};
        event.events = what;
        event.data.u64 = i;
        if (::epoll_ctl(epoll_, how, connections_[i].fd(), &event) != 0) fail("epoll_ctl");
    }

    const options& o_;
    std::vector<connection>& connections_;
    const int epoll_;
    const bool is_open_;
    std::mt19937_64 random_{1};
    std::exponential_distribution<double> gap_{1.0};
    int64_t measured_from_ = 0;
    int64_t measured_to_ = 0;
    int64_t next_due_ = 0;
    std::size_t turn_ = 0;  // the connection of the next request
    int64_t under_way_ = 0;
    bool counting_ = false;
    bool stopped_ = false;
    load_result result_;
};

}  // namespace

load_result run_load(const options& o, std::vector<connection>& connections) { return generator(o, connections).run(); }

}  // namespace bench::net
