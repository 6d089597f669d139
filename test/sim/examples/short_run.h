// short_run.h: how much the simulations of example programs do in a usual test run.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include <weft/sim/sim.h>

#include "support/scale.h"

namespace weft::sim {

// 500 schedules, which take about a second, unless WEFT_SIM_SCHEDULES says another number.
inline options short_run() {
    options o;
    if (std::getenv("WEFT_SIM_SCHEDULES") == nullptr) o.schedules = static_cast<uint64_t>(weft::test::scaled(500));
    return o;
}

// Drops what the program prints to stderr, such as each failure of a connection.
class without_stderr {
public:
    without_stderr() : kept_(::dup(2)) {
        const int none = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
        ::dup2(none, 2);
        ::close(none);
    }

    without_stderr(const without_stderr&) = delete;
    without_stderr& operator=(const without_stderr&) = delete;

    ~without_stderr() {
        ::dup2(kept_, 2);
        ::close(kept_);
    }

private:
    const int kept_;
};

}  // namespace weft::sim
