// interrupted_actor.cc: the operations of an actor that select, are cancelled, or time out.

#include <atomic>
#include <chrono>
#include <optional>
#include <utility>

#include "stress/actor.h"
#include "support/interruption.h"

namespace weft::test {

bool actor::select_once(std::size_t& message) {
    const chan<std::size_t>& a = some_mail();
    const chan<std::size_t>& b = some_mail();
    const auto take = [this](std::optional<std::size_t> v) {
        if (v) {
            world_.received.mark(*v);
        } else {
            expect(false);  // no channel is closed while actors run
        }
    };
    bool sent = false;
    const auto done = [&] { sent = true; };
    switch (random_.below(5)) {
        case 0:
            select(on_send(a, std::move(message), done), on_recv(b, take), on_timeout(a_moment(100), [] {}));
            break;
        case 1:
            select(on_send(a, std::move(message), done), on_send(b, std::move(message), done), on_cancel([] {}));
            break;
        case 2:
            select_first(on_recv(a, take), on_send(b, std::move(message), done), otherwise([] {}));
            break;
        case 3:
            select(on_recv(a, take), on_recv(a, take), on_send(b, std::move(message), done),
                   on_timeout(a_moment(50), [] {}));
            break;
        default: {
            select_set set;
            for (int i = 1 + random_.below(8); i > 0; --i) set.add_recv(some_mail(), take);
            set.add_send(b, message, done);
            static_cast<void>(set.wait_for(a_moment(100)));
        }
    }
    return sent;
}

void actor::select_something() {
    const std::size_t number = next_++;
    std::size_t message = number;
    if (select_once(message)) world_.sent.mark(number);
}

// Sends, receives and selects under a deadline. An operation that finished counts; an interrupted
// one has had no effect.
void actor::be_interrupted() {
    const std::size_t number = next_++;
    std::size_t message = number;
    bool sent = false;
    const auto limit = a_moment(120);
    const ending e = ending_of([&] {
        with_timeout(limit, [&] {
            switch (random_.below(4)) {
                case 0:
                    some_mail().send(std::move(message));
                    sent = true;
                    return;
                case 1:
                    sent = select_once(message);
                    return;
                case 2:
                    return with_timeout(a_moment(60), [&] { receive(); });
                default:
                    if (const auto v = some_mail().recv()) world_.received.mark(*v);
            }
        });
    });
    expect(e != ending::cancelled);
    if (sent) world_.sent.mark(number);
}

// Two green threads send and receive until they are cancelled, at a random moment.
void actor::cancel_somebody() {
    const std::size_t number = next_++;
    auto sender = async([&world = world_, to = some_mail(), number] {
        to.send(number);
        world.sent.mark(number);
    });
    auto receiver = async([&world = world_, from = some_mail(), other = some_mail()] {
        for (;;) {
            auto r = select(recv_case(from), recv_case(other));
            const std::optional<std::size_t> v = r.index() == 0 ? std::get<0>(r) : std::get<1>(r);
            if (!v) return;
            world.received.mark(*v);
        }
    });
    give_way();
    (random_.one_in(2) ? sender : receiver).cancel();
    if (random_.one_in(2)) give_way();
    sender.cancel();
    receiver.cancel();
    static_cast<void>(ending_of([&] { sender.get(); }));
    expect(ending_of([&] { receiver.get(); }) == ending::cancelled);
}

// A scope whose members wait for each other and for the mail. At random it is cancelled, throws, or
// runs to its end.
void actor::open_a_scope() {
    const int how = random_.below(3);
    const int members = 1 + random_.below(4);
    std::atomic<int> ended = 0;
    int thrown = 0;
    try {
        const chan<int> gate;
        scope([&](task_scope& s) {
            for (int i = 0; i < members; ++i) {
                s.go([&, own = random_.split()]() mutable {
                    struct count {
                        std::atomic<int>& n;

                        ~count() { ++n; }
                    } const at_end{ended};
                    if (own.one_in(3)) sleep_for(std::chrono::microseconds(own.below(100)));
                    scope([&](task_scope& inner) {
                        inner.go([&] { gate.recv(); });
                        static_cast<void>(
                            select(recv_case(gate), timeout_case(std::chrono::microseconds(own.below(200)))));
                        if (how != 2) gate.recv();
                        inner.cancel();
                    });
                });
            }
            if (random_.one_in(2)) give_way();
            if (how == 0) s.cancel();
            if (how == 1) throw members;
        });
    } catch (int n) {
        thrown = n;
    }
    expect(ended == members && thrown == (how == 1 ? members : 0));
}

}  // namespace weft::test
