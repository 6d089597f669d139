// dumps.cc: reports on n parked green threads: how long they take, and how much they delay others.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include <weft/debug.h>
#include <weft/observe/profile.h>
#include <weft/weft.h>

#include "costs.h"

#ifdef BENCH_HAS_PAGE
#include <arpa/inet.h>
#include <sys/socket.h>

#include <weft/blocking.h>
#include <weft/observe/page.h>
#endif

namespace bench {

namespace {

using gate = weft::chan<int>;

// So that stacks have some depth.
template <int Kind>
[[gnu::noinline]] int wait_below(const gate& closed, int frames) {
    if (frames == 0) return closed.recv().value_or(Kind);
    return wait_below<Kind>(closed, frames - 1) + 1;
}

// n green threads that wait until this ends: of four kinds, with a stack and a start place each.
class parked_green_threads {
public:
    explicit parked_green_threads(int64_t n) {
        done_.add(static_cast<int>(n));
        for (int64_t i = 0; i < n; ++i) {
            switch (i % 4) {
                case 0:
                    weft::go({.name = "reader"}, [this] { wait<0>(4); });
                    break;
                case 1:
                    weft::go({.name = "writer"}, [this] { wait<1>(8); });
                    break;
                case 2:
                    weft::go({.name = "session"}, [this] { wait<2>(12); });
                    break;
                default:
                    weft::go([this] { wait<3>(6); });
            }
            if (i % 1024 == 0) weft::yield();
        }
        while (weft::stats().waiting < static_cast<uint64_t>(n)) weft::yield();
    }

    ~parked_green_threads() {
        gate_.close();
        done_.wait();
    }

    parked_green_threads(const parked_green_threads&) = delete;
    parked_green_threads& operator=(const parked_green_threads&) = delete;

private:
    template <int Kind>
    void wait(int frames) {
        wait_below<Kind>(gate_, frames);
        done_.done();
    }

    gate gate_;
    weft::wait_group done_;
};

void run_beside_parked(const run_arguments& arguments, const std::function<void()>& body) {
    weft::main(weft::runtime_options{.procs = static_cast<unsigned>(arguments.p)}, [&] {
        const parked_green_threads parked(arguments.n);
        body();
    });
}

// The file has a report on all of them.
void check_report(const unnamed_file& file) { check(file.bytes() > 1000, "the report is long enough"); }

// A plain thread that makes one dump when asked. States: 0 waits, 1 asked, 2 dumps, 3 done.
class dumper {
public:
    dumper()
        : thread_([this] {
              step_.wait(0);
              const stopwatch watch;
              step_.store(2);
              weft::dump(file_.fd());
              took_s_ = watch.wall_s();
              step_.store(3);
          }) {}

    ~dumper() { thread_.join(); }

    dumper(const dumper&) = delete;
    dumper& operator=(const dumper&) = delete;

    void begin() {
        step_.store(1);
        step_.notify_one();
    }

    [[nodiscard]] bool is_done() const { return step_.load(std::memory_order_acquire) == 3; }

    [[nodiscard]] double took_s() const { return took_s_; }

    void check_file() const { check_report(file_); }

private:
    unnamed_file file_;
    std::atomic<int> step_{0};
    double took_s_ = 0;
    std::thread thread_;
};

// Calls step() until is_over(), and returns the longest time between two calls.
template <typename Clock, typename Step, typename Over>
int64_t longest_gap(Clock clock, Step step, Over is_over) {
    int64_t longest = 0;
    int64_t last = clock();
    while (!is_over()) {
        step();
        const int64_t now = clock();
        longest = std::max(longest, now - last);
        last = now;
    }
    return longest;
}

// Adds the longest gap within 0.5 s, and the longest while a plain thread dumps.
template <typename Clock, typename Step>
void compare_gaps(measurement& result, const std::string& clock_name, Clock clock, Step step) {
    constexpr int64_t quiet_ns = 500'000'000;
    dumper dumps;
    const int64_t end = now_ns() + quiet_ns;
    const int64_t quiet = longest_gap(clock, step, [end] { return now_ns() >= end; });
    dumps.begin();
    const int64_t during = longest_gap(clock, step, [&dumps] { return dumps.is_done(); });
    dumps.check_file();
    result.add(("quiet" + clock_name + "_us").c_str(), static_cast<double>(quiet) / 1000);
    result.add(("during" + clock_name + "_us").c_str(), static_cast<double>(during) / 1000);
    result.add(("dump" + clock_name + "_wall_s").c_str(), dumps.took_s());
}

#ifdef BENCH_HAS_PAGE
// The body of the answer to a GET. Blocks the thread.
std::string answer_of(uint16_t port, const std::string& path) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(fd >= 0, "a socket");
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    check(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0, "connected to the page");
    const std::string request =
        "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) + "\r\nConnection: close\r\n\r\n";
    check(::write(fd, request.data(), request.size()) == static_cast<ssize_t>(request.size()), "sent the request");
    std::string all;
    char piece[65536];
    for (ssize_t n = 0; (n = ::read(fd, piece, sizeof piece)) > 0;) all.append(piece, static_cast<std::size_t>(n));
    ::close(fd);
    check(all.starts_with("HTTP/1.1 200"), "the page answers with status 200");
    return all.substr(all.find("\r\n\r\n") + 4);
}

double number_after(const std::string& text, const char* key) {
    const auto at = text.find(key);
    check(at != std::string::npos, key);
    return std::strtod(text.c_str() + at + std::strlen(key), nullptr);
}
#endif

}  // namespace

// The whole dump, in the green thread that calls it; with the child process that finds names.
measurement run_dump(const run_arguments& arguments) {
    measurement result;
    run_beside_parked(arguments, [&] {
        for (const bool names : {true, false}) {
            const unnamed_file file;
            const stopwatch watch;
            weft::dump(file.fd(), {.names = names});
            result.add(names ? "names_wall_s" : "no_names_wall_s", watch.wall_s());
            result.add(names ? "names_s" : "no_names_s", watch.cpu_s());
            check_report(file);
        }
    });
    return result;
}

// Round trips of two green threads while a plain thread dumps. On the clock of the machine, and on
// that of the thread on which both run (P=1), which stands still while another process has the CPU.
measurement run_dump_delays_pingpong(const run_arguments& arguments) {
    measurement result;
    check(arguments.p == 1, "dump_delays_pingpong is for P=1");
    run_beside_parked(arguments, [&] {
        weft::chan<int> ping;
        weft::chan<int> pong;
        weft::wait_group done;
        done.add(1);
        weft::go([&] {
            for (const int value : ping) pong.send(value);
            done.done();
        });
        const auto round_trip = [&] {
            ping.send(1);
            check(pong.recv() == 1, "the echo");
        };
        compare_gaps(result, "", now_ns, round_trip);
        compare_gaps(result, "_cpu", thread_cpu_ns, round_trip);
        ping.close();
        done.wait();
    });
    return result;
}

// Each P runs a green thread that only reads the clock of its thread.
measurement run_dump_delays_hogs(const run_arguments& arguments) {
    measurement result;
    run_beside_parked(arguments, [&] {
        std::atomic<bool> over{false};
        weft::wait_group done;
        for (int i = 1; i < arguments.p; ++i) {
            done.add(1);
            weft::go([&] {
                while (!over.load(std::memory_order_relaxed)) {}
                done.done();
            });
        }
        compare_gaps(result, "", thread_cpu_ns, [] {});
        over.store(true);
        done.wait();
    });
    return result;
}

measurement run_goroutine_profile(const run_arguments& arguments) {
    measurement result;
    run_beside_parked(arguments, [&] {
        const stopwatch watch;
        const weft::observe::profile taken = weft::observe::goroutine_profile();
        result.add("wall_s", watch.wall_s());
        result.add("cpu_s", watch.cpu_s());
        result.add("bytes", static_cast<double>(taken.bytes().size()));
    });
    return result;
}

measurement run_page_state(const run_arguments& arguments) {
    measurement result;
#ifdef BENCH_HAS_PAGE
    run_beside_parked(arguments, [&] {
        const weft::observe::page page;
        const std::string url = page.url();
        const auto query = url.find('?');
        check(query != std::string::npos, "the URL has a token");
        const stopwatch watch;
        const std::string state =
            weft::blocking([&] { return answer_of(page.port(), "/api/state" + url.substr(query)); });
        result.add("wall_s", watch.wall_s());
        result.add("cpu_s", watch.cpu_s());
        result.add("read_s", number_after(state, "\"took_ns\":") / 1e9);
        result.add("bytes", static_cast<double>(state.size()));
    });
#else
    static_cast<void>(arguments);
    fail("built without weft::observe_page");
#endif
    return result;
}

}  // namespace bench
