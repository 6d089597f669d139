// retaken.h: makes green threads lose their P.
#pragma once

#include <atomic>
#include <optional>

#include <weft/runtime.h>
#include <weft/wait_group.h>

#include "environment.h"
#include "procs_test.h"

namespace weft::test {

// Whether the calling green thread has a P. Makes no call into weft.
[[nodiscard]] bool has_p() noexcept;

// Returns when the monitor has retaken the caller's P, at once if it has none. Makes no call into
// weft. Requires that a G waits for a P all the time: a crowd.
void lose_p();

// More green threads than a runtime has Ps; they compute briefly and yield, as long as it exists.
// No P is idle, and a G that overruns its slice loses its P.
class crowd {
public:
    explicit crowd(runtime& rt);
    ~crowd();
    crowd(const crowd&) = delete;
    crowd& operator=(const crowd&) = delete;

private:
    std::atomic<bool> over_{false};
    wait_group members_;
};

// While one exists, runtimes start with a slice of 1 ms, or that of the whole suite.
class short_slices {
public:
    short_slices();

private:
    std::optional<environment_variable> slice_;
};

// A procs_test whose runtime has a slice of 1 ms.
class short_slice_test : private short_slices, public procs_test {
protected:
    explicit short_slice_test(std::chrono::seconds budget = {}) : procs_test(budget) {}
};

}  // namespace weft::test
