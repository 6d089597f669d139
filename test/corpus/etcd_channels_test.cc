// etcd_channels_test.cc: bugs of etcd in which channels and locks wait for each other.

#include <array>
#include <cstddef>
#include <mutex>
#include <optional>

#include "corpus/program.h"

namespace weft::test {
namespace {

// etcd 6857. A node answers questions until it is stopped. A caller that asks afterwards waits for
// an answer for ever.
class question_to_the_stopped : public program {
public:
    using program::program;

    void run() override {
        start("node", [this] { answer(); });
        start("asker", [this] { ask(); });
        stopping_.send(token{});
        stopped_.recv();
        after_stop_.come();
    }

    void check() override {
        EXPECT_EQ(answers_, forced() ? 0 : got_);
        EXPECT_EQ(got_ + refused_, 1);
    }

private:
    void answer() {
        for (bool stopping = false; !stopping;) {
            weft::select(on_recv(questions_,
                                 [this](std::optional<const chan<int>*> back) {
                                     ++answers_;
                                     (*back)->send(42);
                                 }),
                         on_recv(stopping_, [&](auto) { stopping = true; }));
        }
        stopped_.close();
    }

    void ask() {
        after_stop_.await();
        bool asked = true;
        if (buggy()) {
            questions_.send(&back_);
        } else {
            weft::select(on_send(questions_, &back_, [] {}), on_recv(stopped_, [&](auto) { asked = false; }));
        }
        ++(asked && back_.recv() == 42 ? got_ : refused_);
    }

    const chan<const chan<int>*> questions_;
    const chan<int> back_;
    const chan<token> stopping_;
    const chan<token> stopped_;
    int answers_ = 0;
    int got_ = 0;
    int refused_ = 0;
    moment after_stop_{*this};
};

WEFT_BUG(Etcd6857, question_to_the_stopped, {"asker", "chan send"});

// etcd 6873. Stopping holds the lock, closes the channel of a loop and waits for the loop to end.
// The loop has one message left, and needs the lock to process it.
class stop_with_one_left : public program {
public:
    using program::program;

    void run() override {
        start("loop", [this] {
            for (const int v : updates_) {
                took_.come();
                stopping_.await();
                const std::lock_guard hold(lock_);
                sum_ += v;
            }
            ended_.close();
        });
        updates_.send(5);
        took_.await();
        stop();
    }

    void check() override {
        EXPECT_EQ(sum_, 5);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    void stop() {
        std::unique_lock hold(lock_);
        updates_.close();
        stopping_.come();
        if (!buggy()) hold.unlock();
        ended_.recv();
    }

    const chan<int> updates_{1};
    const chan<token> ended_;
    mutex lock_;
    int sum_ = 0;  // guarded by lock_
    moment took_{*this};
    moment stopping_{*this};
};

WEFT_BUG(Etcd6873, stop_with_one_left, {"loop", "mutex lock"}, {"main", "chan receive"});

// etcd 7443. The only reader of a channel of addresses also sends into it. A connection that goes
// down is reported to the balancer, which holds its lock and puts a new set of addresses into the
// channel. The channel has room for one, and is full. Closing the balancer waits for the lock.
class reader_sends_to_itself : public program {
public:
    using program::program;

    void run() override {
        resolve(first);
        start("watcher", [this] { watch(); });
        connected_.await();
        resolve(second);
        reading_.await();
        resolve(third);
        resolved_.come();
        telling_.await();
        close();
    }

    void check() override {
        EXPECT_EQ(connections_, 0U);
        EXPECT_EQ(pinned_ != 0, !told_lost_);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    // A set of addresses, one bit for each.
    using addresses = unsigned;
    static constexpr addresses first = 1;
    static constexpr addresses second = 2;
    static constexpr addresses third = 4;

    void resolve(addresses set) {
        const std::lock_guard hold(lock_);
        put(set);
    }

    void watch() {
        for (const addresses wanted : notify_) {
            if (wanted == second) {
                reading_.come();
                resolved_.await();
            }
            const addresses gone = connections_ & ~wanted;
            connections_ = wanted;
            if (gone != 0) lost(gone);
            pin(wanted & -wanted);
            if (wanted == first) connected_.come();
        }
        connections_ = 0;
    }

    void pin(addresses one) {
        const std::lock_guard hold(lock_);
        if (pinned_ == 0) pinned_ = one;
        told_lost_ = false;
    }

    void lost(addresses gone) {
        const std::lock_guard hold(lock_);
        if (closed_ || (pinned_ & gone) == 0) return;
        pinned_ = 0;
        told_lost_ = true;
        telling_.come();
        put(first | second | third);
    }

    // Requires: lock_ is held. The fixed version keeps only the latest set: a set that was not read
    // yet is out of date.
    void put(addresses set) {
        if (buggy()) {
            notify_.send(set);
        } else {
            (void)notify_.try_recv();
            EXPECT_EQ(notify_.try_send(addresses{set}), chan_status::ok);
        }
    }

    void close() {
        const std::lock_guard hold(lock_);
        closed_ = true;
        notify_.close();
    }

    const chan<addresses> notify_{1};
    addresses connections_ = 0;  // the watcher's
    mutex lock_;
    // Guarded by lock_.
    bool closed_ = false;
    bool told_lost_ = false;
    addresses pinned_ = 0;
    moment connected_{*this};
    moment reading_{*this};
    moment resolved_{*this};
    moment telling_{*this};
};

WEFT_BUG(Etcd7443, reader_sends_to_itself, {"main", "mutex lock"}, {"watcher", "chan send"});

// etcd 7492. Assigning a token holds the lock while it notifies the keeper, through a channel with
// room for one. When it is time to remove old tokens, the keeper wants the lock.
class keeper_of_tokens : public program {
public:
    using program::program;

    void run() override {
        start("keeper", [this] { keep(); });
        assign();
        has_token_.await();
        ticks_.send(token{});
        ticking_.await();
        for (int i = 1; i < tokens; ++i) users_.go({.name = "user"}, [this] { assign(); });
        users_.wait();
        stopping_.close();
    }

    void check() override {
        EXPECT_EQ(assigned_, tokens);
        EXPECT_EQ(kept_ + removed_ + static_cast<int>(added_.len()), tokens);
        EXPECT_TRUE(is_free(lock_));
    }

private:
    static constexpr int tokens = 4;

    void assign() {
        std::unique_lock hold(lock_);
        if (++assigned_ == 3) full_.come();
        if (!buggy()) hold.unlock();
        added_.send(token{});
    }

    void keep() {
        for (bool stopped = false; !stopped;) {
            weft::select(on_recv(added_,
                                 [this](auto) {
                                     if (++kept_ == 1 && removed_ == 0) has_token_.come();
                                 }),
                         on_recv(ticks_,
                                 [this](auto) {
                                     ticking_.come();
                                     full_.await();
                                     for (; kept_ > 0; --kept_) remove();
                                 }),
                         on_recv(stopping_, [&](auto) { stopped = true; }));
        }
    }

    void remove() {
        const std::lock_guard hold(lock_);
        ++removed_;
    }

    const chan<token> added_{1};
    const chan<token> ticks_;
    const chan<token> stopping_;
    mutex lock_;
    int assigned_ = 0;  // guarded by lock_
    int removed_ = 0;   // the same
    int kept_ = 0;      // the keeper's
    wait_group users_;
    moment has_token_{*this};
    moment ticking_{*this};
    moment full_{*this};
};

WEFT_BUG(Etcd7492,
         keeper_of_tokens,
         {"keeper", "mutex lock"},
         {"main", "wait group"},
         {"user", "chan send"},
         {"user", "mutex lock"});

// etcd 7902. Members of an election end their rounds under a common lock. A follower's end waits
// for the end of the leader's round; the leader waits for the lock.
class rounds_under_a_lock : public program {
public:
    using program::program;

    void run() override {
        members_.go({.name = "leader"}, [this] { lead(); });
        for (int i = 0; i < followers; ++i) members_.go({.name = "follower"}, [this] { follow(); });
        members_.wait();
    }

    void check() override {
        EXPECT_EQ(led_, rounds);
        EXPECT_GE(followed_, followers);
        for (const chan<token>& over : over_) EXPECT_TRUE(over.closed());
        EXPECT_TRUE(is_free(lock_));
    }

private:
    static constexpr int followers = 2;
    static constexpr std::size_t rounds = 5;

    void lead() {
        follower_waits_.await();
        for (const chan<token>& over : over_) {
            const std::lock_guard hold(lock_);
            ++led_;
            over.close();
        }
    }

    void follow() {
        for (bool over = false; !over;) {
            std::unique_lock hold(lock_);
            over = led_ == rounds;
            const chan<token>& next = over_[over ? rounds - 1 : led_];
            if (++followed_ == 1) follower_waits_.come();
            if (!buggy()) hold.unlock();
            next.recv();
        }
    }

    std::array<chan<token>, rounds> over_{};  // each is closed when its round is over
    mutex lock_;
    std::size_t led_ = 0;  // guarded by lock_
    int followed_ = 0;     // the same
    wait_group members_;
    moment follower_waits_{*this};
};

WEFT_BUG(Etcd7902,
         rounds_under_a_lock,
         {"follower", "chan receive"},
         {"follower", "mutex lock"},
         {"leader", "mutex lock"},
         {"main", "wait group"});

}  // namespace
}  // namespace weft::test
