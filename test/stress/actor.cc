#include "actor.h"

#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace weft::test {

void actor::live() {
    while (next_ < end_) act();
}

void actor::act() {
    switch (random_.below(30)) {
        case 0:
        case 1:
            return give_way();
        case 2:
        case 3:
            return receive();
        case 4:
        case 5:
            return enter_a_room();
        case 6:
            return start_a_group();
        case 7:
            return ask_for_the_future();
        case 8:
            return close_a_channel();
        case 9:
            return throw_and_wait();
        case 10:
        case 11:
        case 12:
            return select_something();
        case 13:
        case 14:
            return be_interrupted();
        case 15:
            return cancel_somebody();
        case 16:
            return open_a_scope();
        case 17:
            return this_g::set_priority(static_cast<priority>(random_.below(3)));
        case 18:
            return stay_for_a_while();
        default:
            return send();
    }
}

const chan<std::size_t>& actor::some_mail() {
    return world_.mail[static_cast<std::size_t>(random_.below(static_cast<int>(world::channels)))];
}

void actor::give_way() {
    switch (random_.below(6)) {
        case 0:
            return sleep_for(a_moment(300));
        case 1:
            return sleep_for(std::chrono::nanoseconds(random_.below(2000)));
        case 2:
            return checkpoint();
        default:
            if (this_g::id() != 0) {
                weft::yield();
            } else {
                std::this_thread::yield();
            }
    }
}

void actor::stay_for_a_while() {
    const pin here;
    give_way();
    enter_a_room();
    receive();
    give_way();
}

void actor::send() {
    const std::size_t number = next_++;
    std::size_t message = number;
    const chan<std::size_t>& to = some_mail();
    chan_status how = chan_status::ok;
    switch (random_.below(4)) {
        case 0:
            how = to.try_send(std::move(message));
            break;
        case 1:
            how = to.send_for(std::move(message), a_moment(200));
            break;
        case 2:
            how = to.send_until(std::move(message), std::chrono::steady_clock::now() + a_moment(50));
            break;
        default:
            to.send(std::move(message));
            break;
    }
    if (how == chan_status::ok) {
        world_.sent.mark(number);
    } else {
        expect(how != chan_status::closed);
    }
}

void actor::receive() {
    const chan<std::size_t>& from = some_mail();
    const auto got = random_.one_in(3) ? from.try_recv() : from.recv_for(a_moment(100));
    if (got.status == chan_status::ok) {
        world_.received.mark(got.value.value_or(world_.received.size()));
    } else {
        expect(!got.value.has_value() && got.status != chan_status::closed);
    }
}

void actor::enter_a_room() {
    guarded& room = world_.rooms[static_cast<std::size_t>(random_.below(static_cast<int>(world::mutexes)))];
    std::unique_lock hold(room.m, std::defer_lock);
    if (random_.one_in(4)) {
        if (!hold.try_lock()) return;
    } else {
        hold.lock();
    }
    const long before = room.inside;
    if (random_.one_in(8)) give_way();
    room.inside = before + 1;
    ++room.entered;
}

void actor::start_a_group() {
    std::atomic<int> finished = 0;
    const int members = 1 + random_.below(4);
    const bool one_fails = random_.one_in(4);
    {
        wait_group group;
        for (int i = 0; i < members; ++i) {
            group.go([&, i, own = random_.split()]() mutable {
                if (own.one_in(2)) weft::yield();
                if (own.one_in(8)) sleep_for(std::chrono::microseconds(own.below(100)));
                ++finished;
                if (one_fails && i == 0) throw i;
            });
        }
        bool failed = false;
        try {
            group.wait();
        } catch (int) {
            failed = true;
        }
        expect(failed == one_fails);
    }
    expect(finished == members);
}

void actor::ask_for_the_future() {
    const int question = random_.below(1000);
    auto answer = async([question, own = random_.split()]() mutable {
        if (own.one_in(3)) weft::yield();
        if (own.one_in(6)) sleep_for(std::chrono::microseconds(own.below(50)));
        return 2 * question;
    });
    switch (random_.below(4)) {
        case 0:
            return;  // return at once, without using it
        case 1:
            (void)answer.wait_for(a_moment(60));
            break;
        default:
            break;
    }
    expect(answer.get() == 2 * question);
}

// Some green threads send until they learn that the channel is closed. Exactly what they sent
// successfully before comes out.
void actor::close_a_channel() {
    const chan<int> c(static_cast<std::size_t>(random_.below(3)));
    std::atomic<int> delivered = 0;
    int taken = 0;
    const int wanted = random_.below(10);
    wait_group senders;
    for (int i = 0; i < 3; ++i) {
        senders.go([&, c] {
            try {
                for (;;) {
                    c.send(1);
                    ++delivered;
                }
            } catch (const channel_closed&) {}
        });
    }
    while (taken < wanted) taken += c.recv().value_or(0);
    c.close();
    for (const int one : c) taken += one;
    senders.wait();
    expect(taken == delivered);
}

void actor::throw_and_wait() {
    const std::size_t mine = next_;
    try {
        throw mine;
    } catch (std::size_t thrown) {
        give_way();
        enter_a_room();
        expect(thrown == mine && std::uncaught_exceptions() == 0 && std::current_exception() != nullptr);
    }
}

}  // namespace weft::test
