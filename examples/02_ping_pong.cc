// 02_ping_pong.cc: two green threads pass a ball to each other over unbuffered channels.
//
// An unbuffered channel is a rendezvous: send() returns when a receiver has taken the value. The
// two Gs alternate strictly, so the ball needs no lock and no atomic. A chan is a handle; copying
// it into a closure shares the channel, like copying a shared_ptr. recv() returns nullopt when the
// channel is closed and empty, which tells the second player that the game is over.
//
// Prints:
//     ping 1
//     pong 1
//     ping 2
//     pong 2
//     ping 3
//     pong 3
//     after 100000 rounds the ball was hit 200000 times
#include <cstdio>
#include <optional>

#include <weft/weft.h>

namespace {

constexpr int rounds = 100'000;
constexpr int rounds_shown = 3;

struct ball {
    int hits = 0;
};

void ping(const weft::chan<ball>& there, const weft::chan<ball>& back) {
    ball b;
    for (int round = 1; round <= rounds; ++round) {
        ++b.hits;
        if (round <= rounds_shown) std::printf("ping %d\n", round);
        there.send(b);
        b = back.recv().value();
    }
    there.close();
    std::printf("after %d rounds the ball was hit %d times\n", rounds, b.hits);
}

void pong(const weft::chan<ball>& there, const weft::chan<ball>& back) {
    int round = 0;
    while (std::optional<ball> b = there.recv()) {
        ++b->hits;
        if (++round <= rounds_shown) std::printf("pong %d\n", round);
        back.send(*b);
    }
}

}  // namespace

int main() {
    return weft::main([] {
        const weft::chan<ball> there;
        const weft::chan<ball> back;

        weft::wait_group done;
        done.go([=] { pong(there, back); });
        ping(there, back);
        done.wait();
    });
}
