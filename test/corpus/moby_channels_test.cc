// moby_channels_test.cc: bugs of Moby in which a value is sent that is never received.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <system_error>

#include "corpus/program.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// moby 4395. A helper runs a function in a new green thread, and returns the channel into which the
// result will be sent. The caller ignores the channel.
class result_not_wanted : public program {
public:
    using program::program;

    void run() override {
        if (buggy()) {
            (void)run_beside();
        } else {
            (void)async({.name = "worker"}, [this] { return work(); });  // a future may be dropped
        }
    }

    void check() override { EXPECT_EQ(worked_, 1); }

private:
    chan<std::error_code> run_beside() {
        start("worker", [this] { result_.send(work()); });
        return result_;
    }

    std::error_code work() {
        ++worked_;
        return std::make_error_code(std::errc::io_error);
    }

    const chan<std::error_code> result_;
    int worked_ = 0;
};

WEFT_BUG(Moby4395, result_not_wanted, {"worker", "chan send"});

// moby 21233. Transfers report their progress into one channel. The test that reads from it sees
// something unexpected, and its reader ends. So the transfers wait, and so does the thread that
// releases them.
class reader_ends_early : public program {
public:
    using program::program;

    void run() override {
        start("reader", [this] { read(); });
        for (int i = 0; i < transfers; ++i) start("transfer", [this, i] { transfer(i); });
        for (const chan<token>& release : releases_) release.close();
        for (int i = 0; i < transfers; ++i) released_.recv();
        progress_.close();
        read_all_.recv();
    }

    void check() override {
        EXPECT_EQ(read_, 2 * transfers);
        EXPECT_TRUE(unexpected_);
    }

private:
    static constexpr int transfers = 3;

    void transfer(int number) {
        progress_.send(number);
        releases_[static_cast<std::size_t>(number)].recv();
        progress_.send(number);
        released_.send(token{});
    }

    void read() {
        while (progress_.recv()) {
            ++read_;
            unexpected_ = true;
            if (buggy()) return;
        }
        read_all_.close();
    }

    const chan<int> progress_;
    const std::array<chan<token>, transfers> releases_{};
    const chan<token> released_{transfers};
    const chan<token> read_all_;
    int read_ = 0;
    bool unexpected_ = false;
};

WEFT_BUG(Moby21233,
         reader_ends_early,
         {"main", "chan receive"},
         {"transfer", "chan send"},
         {"transfer", "chan send"},
         {"transfer", "chan send"});

// moby 33293. A function returns a channel that holds the error, if there is one. It sends the
// error before any other thread has the channel.
class error_before_the_channel : public program {
public:
    using program::program;

    void run() override {
        const chan<std::error_code> errors = wait_for_container();
        error_ = *errors.recv();
    }

    void check() override { EXPECT_EQ(error_, std::errc::no_such_process); }

private:
    chan<std::error_code> wait_for_container() {
        errors_.send(std::make_error_code(std::errc::no_such_process));
        return errors_;
    }

    const chan<std::error_code> errors_{buggy() ? 0U : 1U};
    std::error_code error_;
};

WEFT_BUG(Moby33293, error_before_the_channel, {"main", "chan send"});

// moby 33781. A monitor starts a probe at intervals, and waits for its result with a timeout. A
// monitor that is stopped in that wait returns at once; the probe cannot.
class stopped_during_a_probe : public program {
public:
    using program::program;

    void run() override {
        start("monitor", [this] { monitor(); });
        probing_.await();
        stop_.send(token{});
    }

    void check() override {
        EXPECT_EQ(probed_, probes_);
        EXPECT_EQ(results_.len(), static_cast<std::size_t>(probes_ - seen_));
        EXPECT_LE(probes_ - seen_, 1);
    }

private:
    void monitor() {
        bool stopped = false;
        const auto on_stop = [&](auto) { stopped = true; };
        while (!stopped) {
            weft::select(on_recv(stop_, on_stop), on_timeout(20us, [this] { ++probes_; }));
            if (stopped) break;
            start("probe", [this] {
                left_.await();
                probed_.fetch_add(1);
                results_.send(true);
            });
            if (probes_ == 1) probing_.come();
            weft::select(on_recv(stop_, on_stop), on_recv(results_, [this](auto) { ++seen_; }));
        }
        left_.come();
    }

    const chan<token> stop_;
    const chan<bool> results_{buggy() ? 0U : 1U};
    int probes_ = 0;
    std::atomic<int> probed_ = 0;
    int seen_ = 0;
    moment probing_{*this};
    moment left_{*this};
};

WEFT_BUG(Moby33781, stopped_during_a_probe, {"probe", "chan send"});

}  // namespace
}  // namespace weft::test
