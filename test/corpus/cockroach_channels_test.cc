// cockroach_channels_test.cc: bugs of CockroachDB in which a channel waits for a peer that has
// left, or that itself waits.

#include <array>
#include <atomic>
#include <deque>
#include <optional>

#include "corpus/program.h"

namespace weft::test {
namespace {

// cockroach 1462. A producer checks whether it must stop, and then sends unconditionally. The
// receiver leaves as soon as it must stop. A stop between the check and the send blocks the
// producer for ever, and with it the thread that joins it.
class look_then_send : public program {
public:
    using program::program;

    void run() override {
        workers_.go({.name = "producer"}, [this] { produce(); });
        workers_.go({.name = "consumer"}, [this] { consume(); });
        looked_.await();
        stopping_.close();
        workers_.wait();
    }

    void check() override { EXPECT_EQ(received_, sent_); }

private:
    void produce() {
        for (int i = 0; !stopping_.closed(); ++i) {
            if (i == 3) {
                looked_.come();
                consumer_left_.await();
            }
            if (buggy()) {
                events_.send(i);
                ++sent_;
            } else {
                weft::select(on_send(events_, i, [this] { ++sent_; }), on_recv(stopping_, [](auto) {}));
            }
        }
    }

    void consume() {
        for (bool stopped = false; !stopped;) {
            weft::select(on_recv(events_, [this](auto) { ++received_; }),
                         on_recv(stopping_, [&](auto) { stopped = true; }));
        }
        consumer_left_.come();
    }

    const chan<int> events_;
    const chan<token> stopping_;
    wait_group workers_;
    int sent_ = 0;
    int received_ = 0;
    moment looked_{*this};
    moment consumer_left_{*this};
};

WEFT_BUG(Cockroach1462, look_then_send, {"main", "wait group"}, {"producer", "chan send"});

// cockroach 2448. Two loops feed each other. One sends events to the other; handling an event may
// send a function back. Both send at the same time, and neither receives.
class two_loops : public program {
public:
    using program::program;

    void run() override {
        ends_.go({.name = "protocol"}, [this] { run_protocol(); });
        ends_.go({.name = "store"}, [this] { run_store(); });
        called_.wait();
        stopping_.close();
        ends_.wait();
    }

    void check() override {
        EXPECT_EQ(handled_, events);
        EXPECT_EQ(calls_, events);
    }

private:
    static constexpr int events = 5;

    // The buggy version sends each event before it does anything else. The fixed one keeps the
    // events that were not received yet.
    void run_protocol() {
        int made = 0;
        for (bool stopped = false; !stopped;) {
            if (made < events) {
                if (made == 1) second_event_.come();
                kept_.push_back(made++);
            }
            const auto on_call = [this](auto) {
                ++calls_;
                called_.done();
            };
            const auto on_stop = [&](auto) { stopped = true; };
            if (buggy() && !kept_.empty()) {
                weft::select(on_send(events_, kept_.front(), [this] { kept_.pop_front(); }),
                             on_recv(stopping_, on_stop));
            } else if (!kept_.empty()) {
                weft::select(on_send(events_, kept_.front(), [this] { kept_.pop_front(); }),
                             on_recv(calls_to_make_, on_call), on_recv(stopping_, on_stop));
            } else {
                weft::select(on_recv(calls_to_make_, on_call), on_recv(stopping_, on_stop));
            }
        }
    }

    void run_store() {
        for (bool stopped = false; !stopped;) {
            const auto on_stop = [&](auto) { stopped = true; };
            bool got = false;
            weft::select(on_recv(events_, [&](auto) { got = true; }), on_recv(stopping_, on_stop));
            if (!got) continue;
            ++handled_;
            second_event_.await();
            weft::select(on_send(calls_to_make_, token{}, [] {}), on_recv(stopping_, on_stop));
        }
    }

    const chan<int> events_;
    const chan<token> calls_to_make_;
    const chan<token> stopping_;
    std::deque<int> kept_;  // the protocol's: events that were not received yet
    int handled_ = 0;
    int calls_ = 0;

    group_of called_{events};
    wait_group ends_;
    moment second_event_{*this};
};

WEFT_BUG(Cockroach2448, two_loops, {"main", "wait group"}, {"protocol", "select"}, {"store", "select"});

// cockroach 24808. Starting a service puts a first wake-up into its channel, and only then starts
// the receiver. If the channel already holds a wake-up, it is full and the service never starts.
class wake_before_start : public program {
public:
    using program::program;

    void run() override {
        suggest();
        start_service();
        suggest();
        stopping_.close();
        service_.wait();
    }

    void check() override {
        EXPECT_EQ(suggested_, woken_ + static_cast<int>(wake_.len()));
        EXPECT_GE(suggested_, 1);
    }

private:
    void suggest() { suggested_ += wake_.try_send(token{}) == chan_status::ok ? 1 : 0; }

    void start_service() {
        if (buggy()) {
            wake_.send(token{});
        } else {
            suggest();
        }
        service_.go({.name = "service"}, [this] {
            for (bool stopped = false; !stopped;) {
                weft::select(on_recv(wake_, [this](auto) { ++woken_; }),
                             on_recv(stopping_, [&](auto) { stopped = true; }));
            }
        });
    }

    const chan<token> wake_{1};
    const chan<token> stopping_;
    int suggested_ = 0;
    int woken_ = 0;
    wait_group service_;
};

WEFT_BUG(Cockroach24808, wake_before_start, {"main", "chan send"});

// cockroach 25456. An error should be logged unless the server is shutting down. To find out, the
// code receives from the channel that is closed at shutdown: this blocks instead of testing.
class wait_for_an_answer : public program {
public:
    using program::program;

    void run() override {
        process();
        shutting_down_.close();
        process();
    }

    void check() override { EXPECT_EQ(logged_, 1); }

private:
    void process() {
        bool leaving = false;
        if (buggy()) {
            leaving = !shutting_down_.recv().has_value();
        } else {
            weft::select(on_recv(shutting_down_, [&](auto) { leaving = true; }), otherwise([] {}));
        }
        if (!leaving) ++logged_;
    }

    const chan<token> shutting_down_;
    int logged_ = 0;
};

WEFT_BUG(Cockroach25456, wait_for_an_answer, {"main", "chan receive"});

// cockroach 35073. The consumer of a row channel fails before it begins, and reports that to no
// other thread. Producers fill the channel and wait.
class consumer_that_never_began : public program {
public:
    using program::program;

    void run() override {
        for (int i = 0; i < room; ++i) push(i);
        producer_.go({.name = "producer"}, [this] { push(room); });
        wait_group consumer;
        consumer.go([this] {
            if (!buggy()) rows_.close();  // could not connect
        });
        consumer.wait();
        push(room + 1);
        producer_.wait();
    }

    void check() override {
        EXPECT_EQ(pushed_, room);
        EXPECT_EQ(refused_, 2);
        EXPECT_EQ(rows_.len(), static_cast<std::size_t>(room));
    }

private:
    static constexpr int room = 4;

    void push(int row) {
        try {
            rows_.send(row);
            ++pushed_;
        } catch (const channel_closed&) {
            ++refused_;
        }
    }

    const chan<int> rows_{room};
    std::atomic<int> pushed_ = 0;
    std::atomic<int> refused_ = 0;
    wait_group producer_;
};

WEFT_BUG(Cockroach35073, consumer_that_never_began, {"main", "chan send"}, {"producer", "chan send"});

// cockroach 35931. Cancelling notifies each input of a flow, one after the other, through its
// channel. The first channel is full, because the flow reads from the second. A notification on the
// second would have ended the flow.
class told_one_by_one : public program {
public:
    using program::program;

    void run() override {
        inputs_[0].send(row);
        flow_.go({.name = "flow"}, [this] {
            for (std::size_t i = inputs_.size(); i-- > 0;) {
                while (inputs_[i].recv() != cancel) ++rows_;
                ++cancels_;
            }
        });
        for (const chan<int>& input : inputs_) {
            if (buggy()) {
                input.send(cancel);
            } else {
                flow_.go({.name = "messenger"}, [&input] { input.send(cancel); });
            }
        }
        flow_.wait();
    }

    void check() override {
        EXPECT_EQ(rows_, 1);
        EXPECT_EQ(cancels_, 2);
    }

private:
    static constexpr int row = 1;
    static constexpr int cancel = 2;

    const std::array<chan<int>, 2> inputs_{chan<int>(1), chan<int>(1)};
    int rows_ = 0;
    int cancels_ = 0;
    wait_group flow_;
};

WEFT_BUG(Cockroach35931, told_one_by_one, {"flow", "chan receive"}, {"main", "chan send"});

}  // namespace
}  // namespace weft::test
