// crossroads.h: a meeting point from which green threads continue on other OS threads.
//
// A woken G runs where its waker runs. So Gs that keep meeting random partners mix over all Ms.
// Yielding alone would not do that: each goes to the end of its own P's queue.
#pragma once

#include <chrono>

#include <weft/chan.h>
#include <weft/go.h>

namespace weft::test {

class crossroads {
public:
    // Parks until another G comes, or briefly. The caller may be on another OS thread afterwards.
    void cross() const {
        if (meeting_.try_recv()) {
            weft::yield();
        } else {
            (void)meeting_.send_for(0, std::chrono::microseconds(200));
        }
    }

private:
    chan<int> meeting_;
};

}  // namespace weft::test
