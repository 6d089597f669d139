// crossroads.h: where green threads meet so that they continue on other OS threads.
//
// A G that another G wakes goes on where its waker runs. So Gs that keep meeting partners at random are mixed over all Ms,
// which merely yielding (each to the end of its own P's queue) would not do.
#pragma once

#include <chrono>

#include <weft/chan.h>
#include <weft/go.h>

namespace weft::test {

class crossroads {
public:
    // Parks until somebody comes by, or a moment has passed. The caller may be on another OS thread afterwards.
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
