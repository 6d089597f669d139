// kubernetes_channels_test.cc: bugs of Kubernetes in which a thread waits for a channel that no
// other thread serves.

#include <array>
#include <chrono>
#include <optional>
#include <stop_token>
#include <system_error>

#include "corpus/program.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// kubernetes 5316. Each request has its own green thread, which sends a result or an error. The
// receiver waits for either with a timeout, and leaves.
class answer_too_late : public program {
public:
    using program::program;

    void run() override {
        for (const bool fails : {false, true}) {
            weft::select(on_recv(result_, [this](auto) { ++answered_; }),
                         on_recv(error_, [this](auto) { ++answered_; }),
                         on_timeout(work(fails), [this] { ++gave_up_; }));
        }
        gone_.come();
    }

    void check() override {
        EXPECT_EQ(answered_ + gave_up_, 2);
        EXPECT_EQ(finished_, 2);
        EXPECT_EQ(result_.len() + error_.len(), static_cast<std::size_t>(2 - answered_));
    }

private:
    // Returns how long to wait.
    std::chrono::microseconds work(bool fails) {
        start("request", [this, fails] {
            gone_.await();
            if (fails) {
                error_.send(std::make_error_code(std::errc::io_error));
            } else {
                result_.send(1);
            }
            finished_.fetch_add(1);
        });
        return 100us;
    }

    const chan<int> result_{buggy() ? 0U : 1U};
    const chan<std::error_code> error_{buggy() ? 0U : 1U};
    std::atomic<int> finished_ = 0;
    int answered_ = 0;
    int gave_up_ = 0;
    moment gone_{*this};
};

WEFT_BUG(Kubernetes5316, answer_too_late, {"request", "chan send"}, {"request", "chan send"});

// kubernetes 25331. A watch is given an error, cancels itself, and has to deliver the error. But
// the thread that stopped it no longer reads. In weft a cancelled send does not wait, unless it is
// shielded, as here.
class error_delivered_come_what_may : public program {
public:
    using program::program;

    void run() override {
        start("watch", [this] { with_stop_token(stop_.get_token(), [this] { watch(); }); });
        errors_.send(std::make_error_code(std::errc::io_error));
        stop_.request_stop();
    }

    void check() override { EXPECT_EQ(delivered_ + undelivered_, 1); }

private:
    void watch() {
        std::error_code error;
        weft::select(on_recv(errors_, [&](std::optional<std::error_code> e) { error = *e; }), on_cancel([] {}));
        stop_.request_stop();
        const auto deliver = [this, error] {
            results_.send(error);
            ++delivered_;
        };
        try {
            buggy() ? shield(deliver) : deliver();
        } catch (const cancelled&) {
            ++undelivered_;
        }
    }

    const chan<std::error_code> errors_;
    const chan<std::error_code> results_;
    std::stop_source stop_ = kept_for_ever(std::stop_source());
    int delivered_ = 0;
    int undelivered_ = 0;
};

WEFT_BUG(Kubernetes25331, error_delivered_come_what_may, {"watch", "chan send"});

// kubernetes 38669. A watcher first delivers past events, and then checks whether it was stopped.
// It was, and nothing receives.
class stopped_before_it_began : public program {
public:
    using program::program;

    void run() override {
        start("watcher", [this] { watch({1, 2}); });
        input_.close();
    }

    void check() override {
        EXPECT_EQ(delivered_, 0);
        EXPECT_TRUE(results_.closed());
    }

private:
    void watch(const std::array<int, 2>& before) {
        for (const int event : before) {
            if (buggy()) {
                results_.send(event);
                ++delivered_;
                continue;
            }
            bool stopped = false;
            weft::select(on_send(results_, event, [this] { ++delivered_; }),
                         on_recv(input_, [&](auto) { stopped = true; }));
            if (stopped) break;
        }
        while (const std::optional<int> event = input_.recv()) results_.send(*event);
        results_.close();
    }

    const chan<int> input_;
    const chan<int> results_;
    int delivered_ = 0;
};

WEFT_BUG(Kubernetes38669, stopped_before_it_began, {"watcher", "chan send"});

// kubernetes 70277. A poller ticks until a channel is closed. Waiting for a condition starts a
// poller and returns when the condition is true. The channel it gave to the poller is the caller's.
// The caller does not know that it must close the channel, and itself waits for that.
class nobody_closes_it : public program {
public:
    using program::program;

    void run() override {
        ticks_.send(token{});
        wait_for(callers_, [this] { return ++asked_ == 1; });
        given_.recv();
    }

    void check() override {
        EXPECT_EQ(asked_, 1);
        EXPECT_EQ(polled_, 1);
    }

private:
    template <typename Condition>
    void wait_for(const chan<token>& callers, Condition condition) {
        const chan<token> done = buggy() ? callers : chan<token>();
        const chan<token> polls = poll(done);
        while (polls.recv()) {
            if (condition()) break;
        }
        if (!buggy()) done.close();
    }

    chan<token> poll(const chan<token>& done) {
        given_ = done;
        const chan<token> polls(1);
        polls_ = polls;
        start("poller", [this] {
            for (bool over = false; !over;) {
                weft::select(
                    on_recv(ticks_, [this](auto) { polled_ += polls_.try_send(token{}) == chan_status::ok ? 1 : 0; }),
                    on_recv(given_, [&](auto) { over = true; }));
            }
            polls_.close();
        });
        return polls;
    }

    const chan<token> callers_;
    const chan<token> ticks_{1};
    chan<token> given_;
    chan<token> polls_;
    int asked_ = 0;
    int polled_ = 0;
};

WEFT_BUG(Kubernetes70277, nobody_closes_it, {"main", "chan receive"}, {"poller", "select"});

}  // namespace
}  // namespace weft::test
