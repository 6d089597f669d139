// cockroach_contexts_test.cc: bugs of CockroachDB in which a thread waits for a cancellation that
// does not reach it, or never comes.
//
// A Go context with a cancel function is here a std::stop_source and with_stop_token(), or a scope.

#include <array>
#include <atomic>
#include <cstddef>
#include <stop_token>

#include "corpus/program.h"

namespace weft::test {
namespace {

// cockroach 10790. A command waits for those before it. When it is cancelled, it leaves that wait
// to a new green thread outside of what was cancelled. But the commands before it were cancelled
// too, and never report.
class heir_of_the_cancelled : public program {
public:
    using program::program;

    void run() override {
        stop_.request_stop();
        start("before", [this] { cancellable([this] { report(); }); });
        start("command", [this] { cancellable([this] { wait_for_those_before(); }); });
        ended_.wait();
        over_.close();
    }

    void check() override {
        EXPECT_EQ(waited_ + reports_not_made_, static_cast<int>(before));
        EXPECT_EQ(reports_, waited_);
    }

private:
    static constexpr std::size_t before = 2;

    template <typename F>
    void cancellable(F f) {
        try {
            with_stop_token(stop_.get_token(), f);
        } catch (const cancelled&) {}
        ended_.done();
    }

    void report() {
        struct leaving {
            moment& gone;

            ~leaving() { gone.come(); }
        } const at_exit{nobody_reports_};

        for (const chan<token>& c : those_before_) {
            c.send(token{});
            ++reports_;
        }
    }

    void wait_for_those_before() {
        nobody_reports_.await();
        std::size_t i = 0;
        for (; i < before; ++i) {
            bool was_cancelled = false;
            weft::select_first(on_recv(those_before_[i], [this](auto) { ++waited_; }),
                               on_cancel([&] { was_cancelled = true; }));
            if (was_cancelled) break;
        }
        if (i == before) return;
        start("heir", [this, i]() mutable {
            for (; i < before; ++i) {
                if (buggy()) {
                    those_before_[i].recv();
                    continue;
                }
                weft::select_first(on_recv(those_before_[i], [this](auto) { ++waited_; }),
                                   on_recv(over_, [this](auto) { ++reports_not_made_; }));
            }
        });
    }

    const std::array<chan<token>, before> those_before_{};
    const chan<token> over_;  // closed when no more reports will come
    std::stop_source stop_;
    int reports_ = 0;
    int waited_ = 0;
    int reports_not_made_ = 0;

    group_of ended_{2};
    moment nobody_reports_{*this};
};

WEFT_BUG(Cockroach10790, heir_of_the_cancelled, {"heir", "chan receive"});

// cockroach 13197. Each transaction has a green thread that waits until the transaction is
// cancelled. This transaction is neither committed nor rolled back.
class forgotten_transaction : public program {
public:
    using program::program;

    void run() override {
        begin();
        if (!buggy()) roll_back();
    }

    void check() override { EXPECT_EQ(released_, 1); }

private:
    void begin() {
        start("watcher", [this] {
            with_stop_token(stop_.get_token(), [this] { weft::select(on_cancel([this] { ++released_; })); });
        });
    }

    void roll_back() { stop_.request_stop(); }

    std::stop_source stop_ = kept_for_ever(std::stop_source());
    int released_ = 0;
};

WEFT_BUG(Cockroach13197, forgotten_transaction, {"watcher", "select"});

// cockroach 13755. The same with the rows of a query: the reader returns at the second row, and
// does not close the rest.
class rows_left_open : public program {
public:
    using program::program;

    void run() override {
        try {
            find(1);
        } catch (int found) {
            found_ = found;
        }
    }

    void check() override {
        EXPECT_EQ(found_, 1);
        EXPECT_EQ(closed_, 1);
    }

private:
    // The fix: the reader closes the rows on every path.
    struct cursor {
        explicit cursor(rows_left_open& p) : of(p) {
            start("watcher", [&p] {
                with_stop_token(p.stop_.get_token(), [&p] { weft::select(on_cancel([&p] { ++p.closed_; })); });
            });
        }

        ~cursor() {
            if (!of.buggy()) close();
        }

        void close() { of.stop_.request_stop(); }

        rows_left_open& of;
    };

    void find(int wanted) {
        cursor rows(*this);
        for (int row = 0; row < 3; ++row) {
            if (row == wanted) throw row;
        }
        rows.close();
    }

    std::stop_source stop_ = kept_for_ever(std::stop_source());
    int found_ = 0;
    int closed_ = 0;
};

WEFT_BUG(Cockroach13755, rows_left_open, {"watcher", "select"});

// cockroach 18101. Cancelling reaches the consumer of a channel, which returns. It does not reach
// the producer, which was started outside of what is cancelled, and which fills the channel.
class consumer_cancelled_alone : public program {
public:
    using program::program;

    void run() override {
        start("restore", [this] {
            try {
                with_stop_token(stop_.get_token(), [this] { restore(); });
            } catch (const cancelled&) {
                ++cancelled_;
            }
        });
        stop_.request_stop();
    }

    void check() override {
        EXPECT_EQ(cancelled_, 2);
        EXPECT_EQ(sent_, taken_ + static_cast<int>(ready_.len()));
    }

private:
    static constexpr int room = 6;

    void restore() {
        scope([this](task_scope& s) {
            if (buggy()) {
                start("producer", [this] { produce(); });
            } else {
                s.go([this] {
                    try {
                        produce();
                    } catch (const cancelled&) {
                        ++cancelled_;
                        throw;
                    }
                });
            }
            while (ready_.recv()) {
                ++taken_;
                weft::select(cancel_case());  // the spans are imported elsewhere, until that is stopped
                throw_if_cancelled();
            }
        });
    }

    void produce() {
        for (int i = 0; i < room + 2; ++i) {
            ready_.send(i);
            ++sent_;
        }
        ready_.close();
    }

    const chan<int> ready_{room};
    std::stop_source stop_;
    std::atomic<int> cancelled_ = 0;
    int sent_ = 0;
    int taken_ = 0;
};

WEFT_BUG(Cockroach18101, consumer_cancelled_alone, {"producer", "chan send"});

}  // namespace
}  // namespace weft::test
