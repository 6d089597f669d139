// main.cc: counts the words of a directory tree on many machines, over a NATS server.
//
// needs: weft::nats nats::server
// sources: wordcount/text_counter.cc wordcount/tree.cc wordcount/word_table.cc
// sources: wordcount/ways.cc wordcount/progress.cc wordcount/text_format.cc
//
// It shows how to build a program of several machines that gives the right result, whatever fails
// meanwhile. The broker keeps the work (broker.h). Workers take it, and may die (worker.h). The
// coordinator answers for the result: coordinator.h has the protocol. The demonstration (demo.cc)
// runs all of it on one machine, kills a worker and the broker in the middle, and compares with a
// serial count.
//
// On several machines:
//
//     nats-server -js                                                    on broker.example
//     cluster_wordcount --server=nats://broker.example worker            on each machine
//     cluster_wordcount --server=nats://broker.example coordinator PATH  where the files are
#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <weft/runtime.h>
#include <weft/scope.h>
#include <weft/signals.h>

#include "../wordcount/text_format.h"
#include "../wordcount/ways.h"
#include "broker.h"
#include "coordinator.h"
#include "demo.h"
#include "options.h"
#include "status_line.h"
#include "worker.h"

namespace cluster_wordcount {

enum exit_code { all_well = 0, wrong_result = 1, wrong_call = 2, broker_fails = 3, by_signal = 128 };

namespace {

using wordcount::with_commas;

// "worker 1234 on HOST".
std::string name_of(const std::string& what) {
    std::string host(256, '\0');
    if (gethostname(host.data(), host.size() - 1) != 0) host = "?";
    host.resize(host.find('\0') == std::string::npos ? host.size() : host.find('\0'));
    return what + " " + std::to_string(getpid()) + " on " + host;
}

void print(const wordcount::result& r, std::size_t top) {
    std::printf("%s files, %s bytes, %s lines, %s words, %s different ones\n", with_commas(r.seen.files).c_str(),
                with_commas(r.text.bytes).c_str(), with_commas(r.text.lines).c_str(), with_commas(r.text.words).c_str(),
                with_commas(r.distinct_words()).c_str());
    for (const wordcount::word_count& w : wordcount::top_words(r, top))
        std::printf("%12s  %s\n", with_commas(w.count).c_str(), wordcount::printable(w.word).c_str());
}

exit_code coordinate(const options& how) {
    broker b(how.at);
    coordinator c(b, how.count);
    count_result r;
    with_status_line("counting", c, [&] { r = c.run(); });
    print(r.counted, how.top);
    std::printf("%s chunks, %s delivered again\n", with_commas(r.end.cut).c_str(),
                with_commas(r.end.redelivered).c_str());
    for (const std::string& why : r.failures) std::fprintf(stderr, "cluster_wordcount: not counted: %s\n", why.c_str());
    const std::string wrong = how.check ? difference_to_serial(how.count.root, r.counted) : std::string();
    if (!wrong.empty()) {
        std::fprintf(stderr, "cluster_wordcount: the result is NOT that of the serial count: %s\n", wrong.c_str());
    } else if (how.check) {
        std::puts("the result is equal to that of the serial count");
    }
    return r.failures.empty() && wrong.empty() ? all_well : wrong_result;
}

exit_code serve(const options& how) {
    broker b(how.at);
    const worker_report r = work(b, how.worker);
    std::printf("%s: %s chunks counted, %s of them delivered again, %s given up\n", how.at.owner.c_str(),
                with_commas(r.counted).c_str(), with_commas(r.delivered_again).c_str(),
                with_commas(r.given_up).c_str());
    return all_well;
}

exit_code do_it(const options& how) {
    if (how.what == "coordinator") return coordinate(how);
    if (how.what == "worker") return serve(how);
    if (how.what == "demo") return demonstrate(how.count, how.at.patience) ? all_well : wrong_result;
    broker(how.at).remove_streams();
    return all_well;
}

exit_code do_it_or_say_why(const options& how) {
    try {
        return do_it(how);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "cluster_wordcount: %s\n", e.what());
        return broker_fails;
    }
}

// Ctrl-C and SIGTERM cancel what runs, so that it tidies up.
int until_told_to_end(const options& how) {
    const weft::signals::subscription told = weft::signals::notify({SIGINT, SIGTERM});
    std::atomic<int> signal = 0;
    int code = 0;
    weft::scope([&](weft::task_scope& s) {
        s.go([&] {
            signal = told.recv().value_or(0);
            s.cancel();
        });
        code = do_it_or_say_why(how);
        s.cancel();
    });
    return signal == 0 ? code : by_signal + signal;
}

// Returns whether the folder can be read; if not, says why on stderr.
bool is_readable(const std::string& root) {
    std::error_code error;
    const bool is_directory = std::filesystem::is_directory(root, error);
    if (!error && is_directory) std::filesystem::directory_iterator(root, error);
    if (error) std::fprintf(stderr, "cluster_wordcount: %s: %s\n", root.c_str(), error.message().c_str());
    return !error;
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
    options how;
    try {
        how = parse_options(arguments);
    } catch (const std::invalid_argument& e) {
        std::fprintf(stderr, "cluster_wordcount: %s\n%s", e.what(), usage());
        return wrong_call;
    }
    if (how.help) {
        std::fputs(usage(), stdout);
        return all_well;
    }
    how.at.owner = name_of(how.what);
    const bool reads_files = how.what == "coordinator" || how.what == "demo";
    if (reads_files && !is_readable(how.count.root)) return wrong_call;
    return weft::main([&how] { return until_told_to_end(how); });
}

}  // namespace cluster_wordcount

int main(int argc, char** argv) { return cluster_wordcount::run(std::vector<std::string>(argv + 1, argv + argc)); }
