// sleeps.cc: sleep, usleep, nanosleep and clock_nanosleep.
//
// A sleep ends early when a scope around the green thread is cancelled or its deadline passes:
// errno is then ECANCELED or ETIMEDOUT, and the rest of the time is returned as after a signal.
// Signals end no sleep.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include <weft/detail/wait.h>
#include <weft/error.h>
#include <weft/time.h>

#include "hooks/calls.h"
#include "hooks/wait_io.h"

namespace weft::hooks {

namespace {

constinit const real<unsigned(unsigned)> real_sleep("sleep");
constinit const real<int(useconds_t)> real_usleep("usleep");
constinit const real<int(const timespec*, timespec*)> real_nanosleep("nanosleep");
constinit const real<int(clockid_t, int, const timespec*, timespec*)> real_clock_nanosleep("clock_nanosleep");

constexpr int64_t ns_per_s = 1'000'000'000;
constexpr int64_t longest_s = ns_per_s;  // about 30 years

int64_t ns_of(const timespec& t) noexcept { return std::min<int64_t>(t.tv_sec, longest_s) * ns_per_s + t.tv_nsec; }

bool is_valid(const timespec& t) noexcept { return t.tv_sec >= 0 && t.tv_nsec >= 0 && t.tv_nsec < ns_per_s; }

// Returns 0 or an errno value.
int sleep_until(int64_t deadline_ns) noexcept {
    try {
        detail::sleep_until_ns(deadline_ns);
        return 0;
    } catch (const timed_out&) {
        return ETIMEDOUT;
    } catch (const cancelled&) {
        return ECANCELED;
    }
}

// As sleep_until. left: what is left of it; may be nullptr.
int sleep_for_ns(int64_t ns, timespec* left) noexcept {
    const int64_t deadline_ns = deadline_after(ns);
    const int error = sleep_until(deadline_ns);
    if (error != 0 && left != nullptr) {
        const int64_t rest_ns = std::max<int64_t>(deadline_ns - detail::now_ns(), 0);
        *left = {rest_ns / ns_per_s, rest_ns % ns_per_s};
    }
    return error;
}

// Until a time of a clock that may be set meanwhile.
int sleep_until_time(clockid_t clock, const timespec& until) noexcept {
    constexpr int64_t look_ns = ns_per_s;  // how late a changed clock is noticed
    for (;;) {
        timespec now{};
        if (::clock_gettime(clock, &now) != 0) return last_error();
        const int64_t left_ns = ns_of(until) - ns_of(now);
        if (left_ns <= 0) return 0;
        const bool may_change = clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME;
        const int error = sleep_for_ns(may_change ? std::min(left_ns, look_ns) : left_ns, nullptr);
        if (error != 0) return error;
    }
}

bool is_time_of_day(clockid_t clock) noexcept {
    return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME || clock == CLOCK_TAI;
}

}  // namespace

void use_sleeps() noexcept {}

}  // namespace weft::hooks

using namespace weft::hooks;

extern "C" {

unsigned sleep(unsigned seconds) {
    if (!may_park()) return real_sleep(seconds);
    timespec left{};
    const int error = sleep_for_ns(int64_t{seconds} * ns_per_s, &left);
    if (error == 0) return 0;
    set_error(error);
    return static_cast<unsigned>(left.tv_sec) + (left.tv_nsec >= ns_per_s / 2 ? 1U : 0U);
}

int usleep(useconds_t us) {
    if (!may_park()) return real_usleep(us);
    const int error = sleep_for_ns(int64_t{us} * 1000, nullptr);
    return error == 0 ? 0 : fail(error);
}

int nanosleep(const timespec* time, timespec* left) {
    if (!may_park() || time == nullptr || !is_valid(*time)) return real_nanosleep(time, left);
    const int error = sleep_for_ns(ns_of(*time), left);
    return error == 0 ? 0 : fail(error);
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
    if (!may_park() || time == nullptr || !is_valid(*time) || !is_time_of_day(clock))
        return real_clock_nanosleep(clock, flags, time, left);
    if ((flags & TIMER_ABSTIME) != 0) return sleep_until_time(clock, *time);
    return sleep_for_ns(ns_of(*time), left);
}
}
