// clocks.cc: see clocks.h.
#include "sim/clocks.h"

#include <sched.h>
#if __has_include(<sys/syscall.h>)
#include <sys/syscall.h>
#endif
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>

#include <weft/go.h>

#include "base/time_units.h"
#include "lifecycle/stopping.h"
#include "os/os.h"
#include "sim/controlled_run.h"
#include "sim/original.h"

namespace weft::sim {

namespace {

bool is_wall_clock(clockid_t which) noexcept {
#if defined(CLOCK_REALTIME_COARSE)
    if (which == CLOCK_REALTIME_COARSE) return true;
#endif
    return which == CLOCK_REALTIME;
}

// False: the caller is not in a simulation.
bool simulated_time(clockid_t which, timespec& t) noexcept {
    controlled_run* run = controlled_run::of_caller();
    if (run == nullptr) return false;
    int64_t ns = run->asked_ns();
    if (is_wall_clock(which)) ns = std::max<int64_t>(run->network().computers.wall_ns(run->host_of_caller(), ns), 0);
    t.tv_sec = static_cast<time_t>(ns / weft::detail::ns_per_s);
    t.tv_nsec = static_cast<long>(ns % weft::detail::ns_per_s);
    return true;
}

int real_time(clockid_t which, timespec* t) noexcept {
    static auto* const next = original<int(clockid_t, timespec*)>("clock_gettime");
    if (next != nullptr) return next(which, t);
    // A program without shared libraries.
#if defined(SYS_clock_gettime)
    return static_cast<int>(::syscall(SYS_clock_gettime, which, t));
#else
    errno = ENOSYS;
    return -1;
#endif
}

// For the type of a function's second parameter, which systems declare differently. Not defined.
template <typename R, typename A, typename B>
B second_of(R (*function)(A, B));

// A function of its own: a compiler may keep the address of errno, whose value others change during
// a wait.
[[gnu::noinline]] void set_errno(int value) noexcept { errno = value; }

// False: the caller is not in a simulation.
bool simulated_sleep(int64_t s, int64_t ns) {
    const controlled_run* run = controlled_run::of_caller();
    if (run == nullptr) return false;
    const int before = errno;
    const int64_t longest_s = (weft::detail::never - run->now_ns) / weft::detail::ns_per_s - 1;
    weft::detail::pause_until_ns(s > longest_s ? weft::detail::never : run->now_ns + s * weft::detail::ns_per_s + ns);
    set_errno(before);
    return true;
}

int real_sleep(const timespec* t, timespec* left) noexcept {
    static auto* const next = original<int(const timespec*, timespec*)>("nanosleep");
    if (next != nullptr) return next(t, left);
    // A program without shared libraries.
#if defined(SYS_nanosleep)
    return static_cast<int>(::syscall(SYS_nanosleep, t, left));
#else
    errno = ENOSYS;
    return -1;
#endif
}

// Clocks of CPU time stay. The negative ones are those of other threads.
bool is_replaced(clockid_t which) noexcept {
    return which != CLOCK_PROCESS_CPUTIME_ID && which != CLOCK_THREAD_CPUTIME_ID && which >= 0;
}

}  // namespace

void use_clocks() noexcept {}

}  // namespace weft::sim

// As the C library declares them.
#if defined(__GLIBC__)
#define WEFT_AS_DECLARED noexcept
#else
#define WEFT_AS_DECLARED
#endif

extern "C" {

int clock_gettime(clockid_t which, timespec* t) WEFT_AS_DECLARED {
    if (weft::sim::is_replaced(which) && weft::sim::simulated_time(which, *t)) return 0;
    return weft::sim::real_time(which, t);
}

int gettimeofday(timeval* t, decltype(weft::sim::second_of(&::gettimeofday)) /*zone*/) WEFT_AS_DECLARED {
    timespec now{};
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    t->tv_sec = now.tv_sec;
    t->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t* t) WEFT_AS_DECLARED {
    timespec now{};
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    if (t != nullptr) *t = now.tv_sec;
    return now.tv_sec;
}

int nanosleep(const timespec* t, timespec* left) {
    const bool is_valid = t->tv_sec >= 0 && t->tv_nsec >= 0 && t->tv_nsec < weft::detail::ns_per_s;
    if (is_valid && weft::sim::simulated_sleep(t->tv_sec, t->tv_nsec)) return 0;
    return weft::sim::real_sleep(t, left);
}

int usleep(useconds_t us) {
    const timespec t{static_cast<time_t>(us / 1'000'000), static_cast<long>(us % 1'000'000 * 1000)};
    return nanosleep(&t, nullptr);
}

unsigned sleep(unsigned s) {
    const timespec t{static_cast<time_t>(s), 0};
    timespec left{};
    if (nanosleep(&t, &left) == 0) return 0;
    return static_cast<unsigned>(left.tv_sec) + (left.tv_nsec >= weft::detail::ns_per_s / 2 ? 1 : 0);
}

int sched_yield() WEFT_AS_DECLARED {
    if (weft::sim::controlled_run::of_caller() == nullptr) {
        weft::detail::os::yield_thread();
    } else {
        const int before = errno;
        weft::yield();
        weft::sim::set_errno(before);
    }
    return 0;
}
}
