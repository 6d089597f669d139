#include "soak/picture.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>

#include "support/resources.h"

namespace weft::test {

namespace {

// Beyond 2 %: what allocators and caches of threads may accumulate in the time.
constexpr std::size_t heap_allowance_kib = 512;  // a thread has 24
constexpr std::size_t resident_allowance_kib = 3 * 1024;
constexpr std::size_t mappings_allowance = 12;
constexpr std::size_t threads_allowance = 2;

// Children are listed per thread. A thread that ends during this has none.
std::size_t children_now() {
    std::size_t count = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream list(task.path() / "children");
        for (std::string pid; list >> pid;) ++count;
    }
    return count;
}

}  // namespace

picture picture::now(const stats_snapshot& stats) {
    give_heap_back();
    const resources r = resources::now();
    return {.fds = r.fds,
            .green_threads = static_cast<std::size_t>(stats.live),
            .children = children_now(),
            .threads = r.threads,
            .heap_kib = heap_in_use_kib(),
            .resident_kib = r.resident_kib,
            .mappings = r.mappings};
}

void print_descriptors() {
    for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        std::printf("soak: descriptor %s: %s\n", fd.path().filename().c_str(),
                    std::filesystem::read_symlink(fd.path(), gone).c_str());
    }
}

picture album::most() const {
    if (all_.size() >= warm_up_) return most_;
    picture any = most_;
    any.fds = std::numeric_limits<std::size_t>::max();
    return any;
}

void album::add(const picture& p) {
    const auto look = [&](const char* name, std::size_t now, std::size_t& most, bool may_warm_up) {
        if (now <= most) return;
        if (!may_warm_up || all_.size() >= warm_up_) {
            found_.push_back(std::string(name) + " have grown: from " + std::to_string(most) + " to " +
                             std::to_string(now) + " in period " + std::to_string(all_.size() + 1));
        }
        most = now;  // so that each step is reported once
    };
    look("file descriptors", p.fds, most_.fds, true);
    look("green threads", p.green_threads, most_.green_threads, false);
    look("children", p.children, most_.children, false);
    all_.push_back(p);
}

std::size_t album::median(std::size_t picture::* figure, std::size_t from, std::size_t to) const {
    std::vector<std::size_t> figures;
    for (std::size_t i = from; i < to; ++i) figures.push_back(all_[i].*figure);
    const auto middle = figures.begin() + static_cast<std::ptrdiff_t>(figures.size() / 2);
    std::nth_element(figures.begin(), middle, figures.end());
    return *middle;
}

void album::compare(std::vector<std::string>& said,
                    const char* name,
                    std::size_t picture::* figure,
                    std::size_t allowance) const {
    const std::size_t quarter = all_.size() / 4;
    const std::size_t before = median(figure, quarter, 2 * quarter);
    const std::size_t after = median(figure, all_.size() - quarter, all_.size());
    if (after <= before + before / 50 + allowance) return;
    said.push_back(std::string(name) + " have grown: from " + std::to_string(before) + " in the second quarter to " +
                   std::to_string(after) + " in the last one");
}

std::vector<std::string> album::complaints() const {
    std::vector<std::string> said = found_;
    if (all_.size() < 4) return said;
    compare(said, "threads", &picture::threads, threads_allowance);
    if (!judges_memory_) return said;
    compare(said, "KiB of heap in use", &picture::heap_kib, heap_allowance_kib);
    compare(said, "KiB of resident memory", &picture::resident_kib, resident_allowance_kib);
    compare(said, "memory mappings", &picture::mappings, mappings_allowance);
    return said;
}

}  // namespace weft::test
