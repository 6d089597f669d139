// main.cc: the soak test: all kinds of socket operations at once, for a given time, with regular
// checks for leaks.
//
//     soak [--seconds=N] [--period=MILLISECONDS] [--seed=N] [--canary=WHAT]
//
// A period is load, and then a moment without any: every green thread has ended, every socket is
// closed. Then the test takes a picture (picture.h) and prints a line. Every eighth period begins
// with a load in another runtime, which is then stopped. The test fails if an operation ends
// unexpectedly, if a byte was wrong, or if anything grows after the warm-up, which is the first
// fifth of all periods.
//
// --seed, or WEFT_SEED: makes the same decisions again, as far as the system's scheduling allows.
// --canary=fd, green, thread, memory, mapping, byte: leaks (or damages) one of these in each
// period, which the test must find.
//
// See: docs/soak.md
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <weft/weft.h>

#include "soak/books.h"
#include "soak/load.h"
#include "soak/picture.h"
#include "support/build.h"
#include "support/outside_poller.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/watchdog.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

enum class canary : uint8_t { none, fd, green, thread, memory, mapping, byte };

constexpr std::array<std::string_view, 7> canary_names = {"none", "fd", "green", "thread", "memory", "mapping", "byte"};

struct options {
    std::chrono::seconds time = 12s;
    std::chrono::milliseconds period = 0ms;  // 0: derived from the time
    uint64_t seed = 0;
    canary what = canary::none;

    [[nodiscard]] std::chrono::milliseconds usual_period() const {
        if (period != 0ms) return period;
        return std::clamp<std::chrono::milliseconds>(time / 12, 500ms, 10s);
    }
};

std::optional<unsigned long long> number(std::string_view text) {
    unsigned long long n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return n;
}

bool take(options& o, std::string_view argument) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view name = argument.substr(0, equals);
    const std::string_view value = argument.substr(equals + 1);
    if (name == "--canary") {
        const auto* const found = std::find(canary_names.begin(), canary_names.end(), value);
        if (found == canary_names.end()) return false;
        o.what = static_cast<canary>(found - canary_names.begin());
        return true;
    }
    const auto n = number(value);
    if (!n) return false;
    if (name == "--seconds" && *n > 0) {
        o.time = std::chrono::seconds(*n);
    } else if (name == "--period" && *n > 0) {
        o.period = std::chrono::milliseconds(*n);
    } else if (name == "--seed") {
        o.seed = *n;
    } else {
        return false;
    }
    return true;
}

// ---- What is leaked on purpose.

class leaker {
public:
    explicit leaker(canary what) : what_(what) {}

    // Releases everything that was leaked.
    ~leaker() {
        over_ = true;
        for (std::thread& t : threads_) t.join();
    }

    leaker(const leaker&) = delete;
    leaker& operator=(const leaker&) = delete;

    void leak(runtime& rt) {
        switch (what_) {
            case canary::fd:
                static_cast<void>(::fcntl(0, F_DUPFD_CLOEXEC, 0));
                break;
            case canary::green:
                rt.go([never = never_] { static_cast<void>(never.recv()); });
                break;
            case canary::thread:
                threads_.emplace_back([this] {
                    while (!over_) std::this_thread::sleep_for(1ms);
                });
                break;
            case canary::memory:
                memory_.emplace_back(std::size_t{1} << 20, 'x');
                break;
            case canary::mapping:
                for (int i = 0; i < 8; ++i)
                    ::mmap(nullptr, 4096, i % 2 == 0 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                break;
            case canary::byte:
            case canary::none:
                break;
        }
    }

    // Green threads have to end before their runtime.
    void let_green_ones_go() { never_.close(); }

private:
    const canary what_;
    const chan<int> never_;
    std::atomic<bool> over_ = false;
    std::vector<std::thread> threads_;
    std::vector<std::string> memory_;
};

// ---- Periods.

class soak {
public:
    explicit soak(const options& o)
        : options_(o),
          period_(o.usual_period()),
          periods_(static_cast<std::size_t>(std::max<long long>(o.time / period_, 1))),
          random_(o.seed),
          album_(std::max<std::size_t>(periods_ / 5, 2), !built_with_sanitizer),
          leaker_(o.what),
          load_(books_, folder_.path, random_.split()) {
        rt_ = std::make_unique<runtime>(how());
    }

    int run() {
        for (std::size_t i = 1; i <= periods_; ++i) {
            const watchdog dog("period " + std::to_string(i),
                               std::chrono::ceil<std::chrono::seconds>(period_) + 2 * patience(),
                               [this] { rt_->dump(2); });
            if (i % 8 == 1) run_in_another_runtime();
            rt_->run([&] { load_.run_for(*rt_, period_, random_.split(), options_.what == canary::byte); });
            leaker_.leak(*rt_);
            look();
        }
        leaker_.let_green_ones_go();
        rt_->drain();
        rt_.reset();
        return verdict();
    }

private:
    // The folder of the files and a socket.
    struct folder {
        folder() : path(std::string(base()) + "/weft_soak_XXXXXX") {
            if (::mkdtemp(path.data()) == nullptr) {
                std::perror(("soak: no folder " + path).c_str());
                std::exit(2);
            }
        }

        ~folder() { ::rmdir(path.c_str()); }  // it is empty by then

        folder(const folder&) = delete;
        folder& operator=(const folder&) = delete;

        static const char* base() {
            const char* given = std::getenv("TMPDIR");
            return given == nullptr ? "/tmp" : given;
        }

        std::string path;
    };

    static runtime_options how() { return {.procs = 4, .name = "soak"}; }

    // A runtime that comes and goes. What the main runtime has grows old.
    void run_in_another_runtime() {
        runtime other({.procs = 2, .name = "other"});
        other.run([&] { load_.run_for(other, period_ / 10, random_.split(), false); });
    }

    // Some things end a little after the wait for them: idle lookup threads, and child processes
    // that no thread waits for.
    void look() {
        picture p = picture::now(rt_->stats());
        const picture most = album_.most();
        const auto end = steady::now() + (options_.what == canary::none ? 20s : 1s);
        while (!p.within(most) && steady::now() < end) {
            std::this_thread::sleep_for(20ms);
            p = picture::now(rt_->stats());
        }
        if (p.fds > most.fds) print_descriptors();
        if (p.green_threads > most.green_threads) rt_->dump(1);
        album_.add(p);
        books_.check_all_ended();
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(steady::now() - began_).count();
        std::printf(
            "soak: %5lld s  %10llu operations  %3zu fds  %zu Gs  %zu children  %3zu threads  %5zu KiB heap  %6.1f MiB  "
            "%4zu mappings  "
            "%llu mistakes\n",
            static_cast<long long>(seconds), static_cast<unsigned long long>(books_.operations()), p.fds,
            p.green_threads, p.children, p.threads, p.heap_kib, static_cast<double>(p.resident_kib) / 1024, p.mappings,
            static_cast<unsigned long long>(books_.mistakes()));
        std::fflush(stdout);
    }

    [[nodiscard]] int verdict() const {
        books_.print();
        std::printf("soak: listeners opened again %llu times, descriptor numbers used again at once %llu times\n",
                    static_cast<unsigned long long>(load_.houses_opened_again()),
                    static_cast<unsigned long long>(load_.numbers_used_again()));
        std::vector<std::string> complaints = album_.complaints();
        if (books_.mistakes() != 0) complaints.push_back(std::to_string(books_.mistakes()) + " mistakes, see above");
        for (const std::string& c : complaints) std::printf("soak: FAILED: %s\n", c.c_str());
        if (!complaints.empty()) {
            std::printf("soak: again: --seconds=%lld --period=%lld --seed=%llu\n",
                        static_cast<long long>(options_.time.count()), static_cast<long long>(period_.count()),
                        static_cast<unsigned long long>(options_.seed));
            return 1;
        }
        std::printf("soak: passed\n");
        return 0;
    }

    const options options_;
    const std::chrono::milliseconds period_;
    const std::size_t periods_;
    prng random_;
    const folder folder_;
    books books_;
    album album_;
    leaker leaker_;
    load load_;
    const steady::time_point began_ = steady::now();
    std::unique_ptr<runtime> rt_;
};

}  // namespace
}  // namespace weft::test

int main(int argc, char** argv) {
    weft::test::options o;
    o.seed = weft::test::number_from_environment("WEFT_SEED", std::random_device()());
    for (int i = 1; i < argc; ++i) {
        if (weft::test::take(o, argv[i])) continue;
        std::fprintf(stderr,
                     "usage: soak [--seconds=N] [--period=MILLISECONDS] [--seed=N] "
                     "[--canary=fd|green|thread|memory|mapping|byte]\n");
        return 2;
    }
    std::printf("soak: seed %llu, %lld s, periods of %lld ms\n", static_cast<unsigned long long>(o.seed),
                static_cast<long long>(o.time.count()), static_cast<long long>(o.usual_period().count()));
    std::fflush(stdout);
    weft::test::open_outside_poller();
    return weft::test::soak(o).run();
}
