// main.cc: counts the words of a directory tree with green threads, and compares the cost with two
// other ways.
//
// It shows how a real program is built from green threads and channels (pipeline.cc), which keep
// all cores busy without a lock or a callback. A plain loop (ways.cc) and a pool of threads
// (thread_pool.cc) do the same for comparison; the three results must be equal. Then the program
// parks a million green threads on a channel (million.cc). Prints the counts, the times and the
// memory.
//
// Every file is read once before the measurements, so that the page cache is equally warm for all
// ways. Each way is measured once, one after the other, in this process.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <weft/weft.h>

#include "../process_memory.h"
#include "measure.h"
#include "million.h"
#include "options.h"
#include "progress.h"
#include "report.h"
#include "text_format.h"
#include "ways.h"

namespace wordcount {

enum exit_code { all_well = 0, results_differ = 1, wrong_call = 2, tree_changes = 3 };

namespace {

constexpr unsigned most_rounds = 4;

// The difference of the runtime's counters.
weft::stats_snapshot since(const weft::stats_snapshot& before, weft::stats_snapshot now) {
    now.spawned -= before.spawned;
    now.switches -= before.switches;
    now.parks -= before.parks;
    now.steals -= before.steals;
    return now;
}

class measuring {
public:
    measuring(const settings& how, progress& shown, std::uint64_t bytes_expected)
        : how_(how), shown_(shown), bytes_expected_(bytes_expected) {}

    // Counts in one way, and stores its cost in w.
    result operator()(way& w, const char* name, result (*count)(const settings&, progress&)) const {
        shown_.begin(name, bytes_expected_);
        const meter m;
        result r = count(how_, shown_);
        w = {name, m.done()};
        return r;
    }

private:
    const settings& how_;
    progress& shown_;
    std::uint64_t bytes_expected_;
};

// Counts in all three ways; the serial result is stored in f. Returns what differs; empty if
// nothing does.
std::string count_three_ways(findings& f, const measuring& measured) {
    f.counted = measured(f.ways[0], "serial", count_serially);
    std::string wrong = difference(f.counted, measured(f.ways[1], "thread pool", count_with_threads));
    const weft::stats_snapshot before = weft::stats();
    const result green = measured(f.ways[2], "green threads", count_with_green_threads);
    f.green = since(before, weft::stats());
    return wrong.empty() ? difference(f.counted, green) : wrong;
}

// Repeats the count until all three ways see the same tree, since files may come and go during a
// count. If it gives up, it says why on stderr.
exit_code count_until_still(findings& f, progress& shown) {
    shown.begin("reading everything once");
    const meter warm_up;
    (void)read_everything(f.how, shown);
    f.warm_up = warm_up.done();
    f.fits_in_memory = shown.bytes() < process_memory::available_bytes();

    const std::uint64_t bytes_expected = shown.bytes();
    for (f.rounds = 1; f.rounds <= most_rounds; ++f.rounds) {
        const neighbours others;
        const std::string wrong = count_three_ways(f, {f.how, shown, bytes_expected});
        f.busy_with_others = others.share();
        if (wrong.empty()) return all_well;

        shown.begin("results differ; checking whether the tree has changed");
        if (read_everything(f.how, shown).fingerprint == f.counted.seen.fingerprint) {
            shown.end();
            std::fprintf(stderr, "wordcount: the tree has not changed, but the three results differ: %s\n",
                         wrong.c_str());
            return results_differ;
        }
    }
    shown.end();
    std::fprintf(
        stderr,
        "wordcount: %s changed in each of %u rounds, so the results cannot be compared; count a directory that "
        "does not change\n",
        printable(f.how.root).c_str(), most_rounds);
    return tree_changes;
}

exit_code demonstrate(const options& asked) {
    findings f;
    f.asked = asked;
    f.how.root = asked.root;
    f.how.workers = weft::stats().procs;
    f.how.readers = asked.readers != 0 ? asked.readers : std::min(4 * f.how.workers, most_readers);

    progress shown(asked.json);
    if (const exit_code code = count_until_still(f, shown); code != all_well) return code;
    shown.end();
    f.top = top_words(f.counted, asked.top);
    f.different_words = f.counted.distinct_words();
    f.counted.words.clear();  // frees memory for the million
    if (!asked.json) print_counts(f);
    if (asked.million != 0) {
        f.million = park_and_release(asked.million, shown);
        if (!asked.json) print_million(*f.million);
    }
    if (asked.json) print_json(f);
    return all_well;
}

// Returns whether the directory can be read; if not, says why on stderr.
bool is_readable(const std::string& root) {
    std::error_code error;
    const bool is_directory = std::filesystem::is_directory(root, error);
    if (!error && is_directory) std::filesystem::directory_iterator(root, error);
    if (error) std::fprintf(stderr, "wordcount: %s: %s\n", printable(root).c_str(), error.message().c_str());
    return !error;
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
    options asked;
    try {
        asked = parse_options(arguments);
    } catch (const std::invalid_argument& e) {
        std::fprintf(stderr, "wordcount: %s\n%s", printable(e.what(), 300).c_str(), usage());
        return wrong_call;
    }
    if (asked.help) {
        std::fputs(usage(), stdout);
        return all_well;
    }
    if (!is_readable(asked.root)) return wrong_call;
    return weft::main([&asked]() -> int { return demonstrate(asked); });
}

}  // namespace wordcount

int main(int argc, char** argv) {
    const int code = wordcount::run(std::vector<std::string>(argv + 1, argv + argc));
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
        std::perror("wordcount: cannot write the result");
        return code == 0 ? wordcount::wrong_call : code;
    }
    return code;
}
