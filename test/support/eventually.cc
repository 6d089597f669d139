#include "eventually.h"

#include <cstdio>
#include <cstdlib>
#include <thread>

#include <weft/debug.h>
#include <weft/go.h>

namespace weft::test {

namespace {

using std::chrono::steady_clock;

// After this many checks a plain thread sleeps between them, which leaves the cores to other
// threads.
constexpr unsigned looks_before_nap = 64;
constexpr std::chrono::microseconds nap(50);

[[noreturn]] void give_up(std::source_location where) {
    std::fprintf(stderr, "%s:%u: still not true after %lld s\n", where.file_name(), static_cast<unsigned>(where.line()),
                 static_cast<long long>(patience().count()));
    weft::dump(2);
    std::abort();
}

}  // namespace

void patient_wait::pause() {
    if (steady_clock::now() > deadline_) give_up(where_);
    if (this_g::id() != 0) {
        if (!weft::yield()) std::this_thread::yield();
    } else if (++pauses_ < looks_before_nap) {
        std::this_thread::yield();
    } else {
        std::this_thread::sleep_for(nap);
    }
}

void compute_for(std::chrono::nanoseconds duration) {
    const auto end = steady_clock::now() + duration;
    while (steady_clock::now() < end) {}
}

namespace impl {

void busy_pause(steady_clock::time_point deadline, std::source_location where) {
    if (steady_clock::now() > deadline) give_up(where);
    std::this_thread::yield();
}

}  // namespace impl

}  // namespace weft::test
