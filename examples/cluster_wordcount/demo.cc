#include "demo.h"

#include <cstdio>
#include <functional>
#include <thread>
#include <utility>

#include <weft/scope.h>
#include <weft/time.h>

#include "../wordcount/progress.h"
#include "../wordcount/text_format.h"
#include "machines.h"
#include "status_line.h"
#include "terminal.h"

namespace cluster_wordcount {

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using wordcount::decimal;
using wordcount::with_commas;

constexpr auto ack_wait = 1s;

wordcount::result counted_serially(const std::string& root) {
    wordcount::progress quiet(true);
    wordcount::settings how;
    how.root = root;
    return wordcount::count_serially(how, quiet);
}

double seconds_since(steady_clock::time_point begin) {
    return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

// The rest of a line of the report: chunks, redeliveries, and whether the result is right.
std::string judged(const count_result& r, const std::string& wrong) {
    std::string text = with_commas(r.end.cut) + " chunks, " + with_commas(r.end.redelivered) + " delivered again; ";
    for (const std::string& why : r.failures) text += "not counted: " + why + "; ";
    return text + (wrong.empty() ? "equal to the serial result" : "NOT equal to the serial result: " + wrong);
}

class demonstration {
public:
    demonstration(count_options how, std::chrono::milliseconds patience)
        : how_(std::move(how)), patience_(patience), broker_(folder_.path()) {}

    bool run() {
        say("counting " + how_.root + " serially");
        const auto begin = steady_clock::now();
        serial_ = counted_serially(how_.root);
        say("  " + decimal(seconds_since(begin), 2) + " s; " + with_commas(serial_.seen.files) + " files, " +
            wordcount::in_megabytes(serial_.text.bytes) + ", " + with_commas(serial_.text.words) + " words, " +
            with_commas(serial_.distinct_words()) + " different ones");
        bool all_equal = count(4, true);
        for (const std::size_t workers : {1U, 2U, 4U}) all_equal = count(workers, false) && all_equal;
        say(all_equal ? "all results are equal to the serial one" : "a result is NOT equal to the serial one");
        return all_equal;
    }

private:
    // Counts with so many workers. Returns whether the result is the serial one.
    bool count(std::size_t workers, bool with_failures) {
        const std::string what = std::to_string(workers) + (workers == 1 ? " worker" : " workers") +
                                 (with_failures ? ", with failures" : "");
        say(what);
        broker b({.server = broker_.url(), .owner = "demo", .ack_wait = ack_wait, .patience = patience_});
        coordinator c(b, how_);
        worker_processes running(workers, broker_.url(), ack_wait);
        c.wait_for_workers(workers, 20s);
        count_result r;
        const auto begin = steady_clock::now();
        with_status_line(what, c, [&] {
            weft::scope([&](weft::task_scope& s) {
                if (with_failures) s.go([&] { fail(c, running); });
                r = c.run();
            });
        });
        const double seconds = seconds_since(begin);
        const std::string wrong = wordcount::difference(serial_, r.counted);
        say("  " + decimal(seconds, 2) + " s; " + judged(r, wrong));
        return wrong.empty() && r.failures.empty();
    }

    void fail(coordinator& c, worker_processes& running) {
        const std::uint64_t all = serial_.text.bytes;
        wait_for_bytes(c, all / 3);
        running.kill_one();
        say("  killed a worker");
        wait_for_bytes(c, all / 3 * 2);
        broker_.kill();
        say("  killed the broker");
        broker_.start();
        say("  started the broker again");
    }

    // Also returns at the end of the count.
    static void wait_for_bytes(coordinator& c, std::uint64_t bytes) {
        for (snapshot s = c.now(); s.bytes < bytes && !(s.all_cut && s.done == s.cut); s = c.now())
            weft::sleep_for(1ms);
    }

    const count_options how_;
    const std::chrono::milliseconds patience_;
    temp_folder folder_;
    broker_process broker_;
    wordcount::result serial_;
};

}  // namespace

bool demonstrate(const count_options& how, std::chrono::milliseconds patience) {
    return demonstration(how, patience).run();
}

std::string difference_to_serial(const std::string& root, const wordcount::result& counted) {
    return wordcount::difference(counted_serially(root), counted);
}

}  // namespace cluster_wordcount
