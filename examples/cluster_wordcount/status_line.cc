#include "status_line.h"

#include <chrono>
#include <cstdio>

#include <weft/scope.h>
#include <weft/time.h>

#include "../wordcount/text_format.h"
#include "terminal.h"

namespace cluster_wordcount {

namespace {

using namespace std::chrono_literals;
using wordcount::with_commas;

std::string line(const snapshot& s, double chunks_per_second) {
    return with_commas(s.done) + " of " + with_commas(s.cut) + (s.all_cut ? "" : "…") + " chunks, " +
           wordcount::decimal(chunks_per_second, 0) + "/s, " + std::to_string(s.workers) +
           (s.workers == 1 ? " worker, " : " workers, ") + with_commas(s.redelivered) + " redelivered";
}

void write_lines(const std::string& what, coordinator& of) {
    constexpr auto interval = 200ms;
    constexpr double smoothing = 0.3;
    double rate = 0;
    std::uint64_t last = of.now().done;
    for (;; weft::sleep_for(interval)) {
        const snapshot s = of.now();
        rate += smoothing * (static_cast<double>(s.done - last) * (1s / interval) - rate);
        last = s.done;
        std::fprintf(stderr, "%s%s: %s", clear_line, what.c_str(), line(s, rate).c_str());
        std::fflush(stderr);
    }
}

}  // namespace

void with_status_line(const std::string& what, coordinator& of, const std::function<void()>& f) {
    if (!is_terminal()) return f();

    struct clear {
        ~clear() { std::fputs(clear_line, stderr); }
    };

    const clear at_end;
    weft::scope([&](weft::task_scope& s) {
        s.go([&] { write_lines(what, of); });
        f();
        s.cancel();
    });
}

}  // namespace cluster_wordcount
