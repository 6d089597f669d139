// backoff.h: pauses between attempts to reach a server, which grow with each failure.
#pragma once

#include <algorithm>
#include <chrono>

#include <weft/time.h>

namespace weft::detail {

class backoff {
public:
    // Waits before the next attempt. A cancellation point.
    void pause() {
        weft::sleep_for(next_);
        next_ = std::min(next_ * 2, longest);
    }

    void reset() noexcept { next_ = first; }

private:
    static constexpr std::chrono::milliseconds first{50};
    static constexpr std::chrono::milliseconds longest{2'000};

    std::chrono::milliseconds next_ = first;
};

}  // namespace weft::detail
