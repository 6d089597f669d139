// retaken.h: green threads that have lost their P, at will.
#pragma once

#include <atomic>
#include <optional>

#include <weft/runtime.h>
#include <weft/wait_group.h>

#include "environment.h"
#include "procs_test.h"

namespace weft::test {

// Whether the calling green thread has a P. No call into weft.
[[nodiscard]] bool has_p() noexcept;

// Returns when the monitor has taken the caller's P away, at once if it has none. No call into weft. Somebody has to wait for a
// P all the time: a crowd.
void lose_p();

// More green threads than a runtime has Ps, which compute a little and yield, for as long as it exists: nobody finds an idle P,
// and whoever keeps his for longer than a slice loses it.
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

// While one exists, runtimes begin with a slice of 1 ms; or with that with which the whole suite runs.
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
