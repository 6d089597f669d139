// actor.h: an actor, green or plain, does random things to a world that many actors share, and
// counts the results.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <weft/weft.h>

#include "support/random.h"
#include "support/tally.h"

namespace weft::test {

// A mutex and what it guards. The counter is plain, so that two threads inside at once would lose a
// count.
struct guarded {
    mutex m;
    long inside = 0;               // entries, counted under the lock
    std::atomic<long> entered{0};  // the same, counted without the lock
};

// State that the actors of one round share.
struct world {
    static constexpr std::size_t channels = 6;
    static constexpr std::size_t mutexes = 3;

    explicit world(std::size_t messages) : sent(messages), received(messages) {}

    const std::array<chan<std::size_t>, channels> mail = {
        chan<std::size_t>(0), chan<std::size_t>(0),  chan<std::size_t>(1),
        chan<std::size_t>(4), chan<std::size_t>(64), chan<std::size_t>(0),
    };
    std::array<guarded, mutexes> rooms;

    tally sent;      // messages that a send said it delivered
    tally received;  // messages that came out
    std::atomic<int> mistakes{0};
};

class actor {
public:
    // Sends the messages numbered [first, first + messages).
    actor(world& shared, prng random, std::size_t first, std::size_t messages)
        : world_(shared), random_(random), next_(first), end_(first + messages) {}

    // Does random things, each of which sends at most one message, until all messages are used up.
    void live();

private:
    void act();
    void give_way();
    void send();
    void receive();
    void enter_a_room();
    void start_a_group();
    void ask_for_the_future();
    void close_a_channel();
    void throw_and_wait();
    void select_something();
    void be_interrupted();
    void cancel_somebody();
    void open_a_scope();
    void stay_for_a_while();

    // Runs a select over some of the mail in some form. It may be interrupted. Returns whether it
    // sent message.
    bool select_once(std::size_t& message);

    void expect(bool holds) { world_.mistakes += !holds; }

    [[nodiscard]] std::chrono::microseconds a_moment(int most) {
        return std::chrono::microseconds(random_.below(most));
    }

    [[nodiscard]] const chan<std::size_t>& some_mail();

    world& world_;
    prng random_;
    std::size_t next_;
    const std::size_t end_;
};

}  // namespace weft::test
