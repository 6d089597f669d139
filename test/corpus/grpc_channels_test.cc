// grpc_channels_test.cc: bugs of grpc-go in which a thread waits for a channel that no other thread
// serves.

#include <atomic>
#include <chrono>
#include <optional>
#include <stop_token>
#include <vector>

#include "corpus/program.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// grpc 660. Each call is made by its own green thread, which reports when the call is done. The
// loop that makes the calls is stopped before it receives the report.
class stopped_before_the_report : public program {
public:
    using program::program;

    void run() override {
        start("loop", [this] { call_until_stopped(); });
        stopping_.send(token{});
        left_.come();
    }

    void check() override { EXPECT_EQ(reported_, made_); }

private:
    void call_until_stopped() {
        for (bool stopped = false; !stopped;) {
            ++made_;
            const chan<bool>& done = buggy() ? unbuffered_ : buffered_;
            start("call", [this, &done] {
                left_.await();
                done.send(true);
                ++reported_;
            });
            weft::select(on_recv(done, [](auto) {}), on_recv(stopping_, [&](auto) { stopped = true; }));
        }
    }

    const chan<bool> unbuffered_;
    const chan<bool> buffered_{1};  // the fix: room for the report that is never received
    const chan<token> stopping_;
    int made_ = 0;
    std::atomic<int> reported_ = 0;
    moment left_{*this};
};

WEFT_BUG(Grpc660, stopped_before_the_report, {"call", "chan send"});

// grpc 862. Dialling starts a green thread that connects again and again. The caller gives up, so
// there is no connection to return, and no owner that could close it.
class dial_given_up : public program {
public:
    using program::program;

    void run() override {
        std::stop_source caller;
        caller.request_stop();
        with_stop_token(caller.get_token(), [this] { dial(); });
    }

    void check() override {
        EXPECT_GE(tried_, 1);
        EXPECT_EQ(closed_, 1);
    }

private:
    void dial() {
        start("connector", [this] { with_stop_token(connection_.get_token(), [this] { connect(); }); });
        try {
            connected_.recv();
        } catch (const cancelled&) {
            if (!buggy()) connection_.request_stop();
        }
    }

    void connect() {
        for (bool closed = false; !closed;) {
            ++tried_;
            // The next attempt, at a time that the network determines. No answer comes.
            weft::select(on_recv(retry_, [](auto) {}), on_cancel([&] { closed = true; }));
        }
        ++closed_;
    }

    const chan<token> connected_;
    const chan<token> retry_;
    std::stop_source connection_ = kept_for_ever(std::stop_source());
    int tried_ = 0;
    int closed_ = 0;
};

WEFT_BUG(Grpc862, dial_given_up, {"connector", "select"});

// grpc 1275. The reader of a stream waits for data. Closing the stream should wake the reader with
// an empty message, but does not. The closer stops waiting for the reader.
class closed_without_a_word : public program {
public:
    using program::program;

    void run() override {
        start("reader", [this] {
            read_ = data_.recv();
            done_.close();
        });
        if (!buggy()) data_.send({});
        weft::select(on_recv(done_, [](auto) {}), on_timeout(buggy() ? 1ms : 1h, [this] { gave_up_ = true; }));
    }

    void check() override {
        EXPECT_TRUE(read_.has_value() && read_->empty());
        EXPECT_FALSE(gave_up_);
    }

private:
    const chan<std::vector<char>> data_;
    const chan<token> done_;
    std::optional<std::vector<char>> read_;
    bool gave_up_ = false;
};

WEFT_BUG(Grpc1275, closed_without_a_word, {"reader", "chan receive"});

// grpc 1424. A watcher must close a channel when it ends. It ends when its own channel is closed,
// and does not close the other.
class end_not_reported : public program {
public:
    using program::program;

    void run() override {
        start("dialler", [this] {
            start("watcher", [this] {
                for (const int address : addresses_) last_ = address;
                if (!buggy()) done_.close();
            });
            done_.recv();
            ++dialled_;
        });
        addresses_.send(7);
        addresses_.close();
    }

    void check() override {
        EXPECT_EQ(last_, 7);
        EXPECT_EQ(dialled_, 1);
    }

private:
    const chan<int> addresses_;
    const chan<token> done_;
    int last_ = 0;
    int dialled_ = 0;
};

WEFT_BUG(Grpc1424, end_not_reported, {"dialler", "chan receive"});

}  // namespace
}  // namespace weft::test
