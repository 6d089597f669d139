#include "report.h"

#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "text_format.h"

namespace wordcount {

namespace {

const char* plural(std::uint64_t n, const char* one, const char* many) { return n == 1 ? one : many; }

double in_millions(std::uint64_t n) { return static_cast<double>(n) / 1e6; }

void heading(const std::string& text) {
    const bool bold = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
    std::printf("\n%s%s%s\n", bold ? "\033[1m" : "", text.c_str(), bold ? "\033[0m" : "");
}

void print_ways(const findings& f) {
    heading("The same work three ways");
    std::printf("  %-27s %8s %5s %9s %8s %5s %9s\n", "", "time", "MB/s", "speed-up", "CPU time", "cores", "memory");
    const double serial_seconds = f.ways[0].took.seconds;
    const std::array<std::string, 3> names = {
        "one loop",
        "pool of " + std::to_string(f.how.workers) + plural(f.how.workers, " thread", " threads"),
        with_commas(f.green.spawned) + " green threads on " + std::to_string(f.green.procs) +
            plural(f.green.procs, " core", " cores"),
    };
    for (std::size_t i = 0; i < names.size(); ++i) {
        const cost& took = f.ways[i].took;
        std::printf("  %-27s %6.3f s %5.0f %8.2fx %6.3f s %5.2f %6.0f MB\n", names[i].c_str(), took.seconds,
                    in_millions(f.counted.text.bytes) / took.seconds, serial_seconds / took.seconds, took.cpu_seconds,
                    took.cpu_seconds / took.seconds, in_millions(took.peak_bytes));
    }
    std::printf("  All three results are equal, word for word.\n");
    if (f.fits_in_memory) {
        std::printf("  All files were read once before, in %.1f s: all three found them in memory.\n",
                    f.warm_up.seconds);
    } else {
        std::printf("  The files are too large to be kept in memory: these times are the disk's too.\n");
    }
    if (f.busy_with_others > 0.1) {
        std::printf(
            "  Other programs took %.0f %% of this machine's processor time meanwhile: for\n"
            "  reliable figures, try again when it is idle.\n",
            100 * f.busy_with_others);
    }
    if (f.rounds > 1) {
        std::printf("  The tree changed while it was counted; it did not change in round %u.\n", f.rounds);
    }

    heading("What the scheduler did");
    const auto line = [](std::uint64_t n, const char* what) {
        std::printf("  %14s  %s\n", with_commas(n).c_str(), what);
    };
    line(f.green.spawned, "green threads spawned");
    line(f.green.switches, "context switches");
    line(f.green.parks, "waits that parked a green thread");
    line(f.green.steals, "green threads stolen by another processor");
    line(f.green.threads, "OS threads");
}

void print_skipped(const census& seen) {
    heading("Met, but not counted");
    bool any = false;
    for (std::size_t i = 0; i < skip_kinds; ++i) {
        if (seen.skipped[i] == 0) continue;
        any = true;
        std::printf("  %14s  %-31s  %s\n", with_commas(seen.skipped[i]).c_str(), name_of(static_cast<skip>(i)),
                    printable(seen.example[i]).c_str());
    }
    if (!any) std::printf("  %14s\n", "nothing");
}

void print_steps(const char* name, const million_steps& s) {
    std::printf("\"%s\": {\"start_seconds\": %.6f, \"park_seconds\": %.6f, \"release_seconds\": %.6f}", name,
                s.start_seconds, s.park_seconds, s.release_seconds);
}

}  // namespace

void print_counts(const findings& f) {
    const result& r = f.counted;
    heading("Word count of " + printable(f.how.root));
    const auto line = [](std::uint64_t n, const std::string& what) {
        std::printf("  %14s  %s\n", with_commas(n).c_str(), what.c_str());
    };
    line(r.seen.files,
         "files in " + with_commas(r.seen.directories) + plural(r.seen.directories, " directory", " directories"));
    line(r.text.bytes, "bytes");
    line(r.text.lines, "lines");
    line(r.text.words, "words, " + with_commas(f.different_words) + " different ones");
    if (r.text.long_words > 0) line(r.text.long_words, "of them longer than 4,096 bytes, and not distinguished");

    if (f.asked.top > 0) heading("The most frequent words");
    for (const word_count& w : f.top) line(w.count, printable(w.word));
    print_skipped(r.seen);
    print_ways(f);
    std::fflush(stdout);
}

void print_million(const million_facts& m) {
    if (m.count < m.wanted) {
        heading(with_commas(m.count) + " green threads parked on one channel (" + with_commas(m.wanted) +
                " were wanted)");
    } else {
        heading(with_commas(m.count) + " green threads parked on one channel");
    }
    const bool scaled_down = m.count < m.wanted && m.stopped_by.empty();
    const char* const room = scaled_down ? "three quarters of it may be used" : "enough";
    const auto each = [&m](std::uint64_t bytes) { return with_commas(m.count == 0 ? 0 : bytes / m.count); };
    const auto step = [](const char* what, double first, double again) {
        std::printf("  %-26s %8.3f s %8.3f s\n", what, first, again);
    };
    std::printf("  %-26s %10s  %s\n", "memory available", in_megabytes(m.available_bytes).c_str(), room);
    if (!m.stopped_by.empty()) std::printf("  no more could be started   %s\n", m.stopped_by.c_str());
    std::printf("  %-26s %8s B  resident, and %s B of page tables\n", "memory of each", each(m.resident_bytes).c_str(),
                each(m.page_table_bytes).c_str());
    std::printf("\n  %-26s %10s %10s\n", "", "first time", "again");
    step("to start them", m.first.start_seconds, m.again.start_seconds);
    step("until all were parked", m.first.park_seconds, m.again.park_seconds);
    step("to release them", m.first.release_seconds, m.again.release_seconds);
    std::printf(
        "  The first time, the kernel must find and clear the memory. To release them,\n"
        "  the channel is closed; then every green thread wakes up and finishes.\n");
    std::fflush(stdout);
}

void print_json(const findings& f) {
    const auto member = [](const char* name, std::uint64_t n) { std::printf("\"%s\": %" PRIu64 ", ", name, n); };
    const result& r = f.counted;
    std::printf("{\"root\": %s, ", json_string(f.how.root).c_str());
    member("files", r.seen.files);
    member("directories", r.seen.directories);
    member("bytes", r.text.bytes);
    member("lines", r.text.lines);
    member("words", r.text.words);
    member("long_words", r.text.long_words);
    member("different_words", f.different_words);

    const char* separator = "";
    std::printf("\"top\": [");
    for (const word_count& w : f.top) {
        std::printf("%s[%s, %zu]", separator, json_string(w.word).c_str(), w.count);
        separator = ", ";
    }
    std::printf("], \"skipped\": {");
    separator = "";
    for (std::size_t i = 0; i < skip_kinds; ++i) {
        const std::string name = json_string(name_of(static_cast<skip>(i)));
        std::printf("%s%s: %" PRIu64, separator, name.c_str(), r.seen.skipped[i]);
        separator = ", ";
    }
    std::printf("}, \"ways\": [");
    separator = "";
    for (const way& w : f.ways) {
        std::printf("%s{\"name\": %s, \"seconds\": %.6f, \"cpu_seconds\": %.6f, \"peak_bytes\": %" PRIu64 "}",
                    separator, json_string(w.name).c_str(), w.took.seconds, w.took.cpu_seconds, w.took.peak_bytes);
        separator = ", ";
    }
    std::printf("], \"scheduler\": {");
    member("procs", f.green.procs);
    member("threads", f.green.threads);
    member("spawned", f.green.spawned);
    member("switches", f.green.switches);
    member("parks", f.green.parks);
    std::printf("\"steals\": %" PRIu64 "}, ", f.green.steals);
    if (f.million) {
        std::printf("\"million\": {");
        member("wanted", f.million->wanted);
        member("count", f.million->count);
        member("resident_bytes", f.million->resident_bytes);
        member("page_table_bytes", f.million->page_table_bytes);
        print_steps("first", f.million->first);
        std::printf(", ");
        print_steps("again", f.million->again);
        std::printf("}, ");
    }
    member("workers", f.how.workers);
    member("readers", f.how.readers);
    std::printf("\"rounds\": %u}\n", f.rounds);
    std::fflush(stdout);
}

}  // namespace wordcount
