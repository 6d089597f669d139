// leak_report.cc: see leak_report.h.
#include "observe/leak_report.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <span>
#include <system_error>

#include <weft/blocking.h>

#include "lifecycle/report.h"
#include "observe/code_names.h"
#include "observe/pprof.h"
#include "observe/profile_maker.h"

namespace weft::observe {

namespace detail {

namespace {

using weft::detail::g_snapshot;
using weft::detail::g_state;

constexpr std::size_t ids_shown = 8;

}  // namespace

void leak_groups::add(const g_snapshot& g, const label_set& labels, int64_t now_ns) {
    const char* state = g.state == g_state::waiting ? text(g.reason) : text(g.state);
    std::string key = std::string(state) + '\0' + place_of(g.who.where) + '\0';
    key.append(reinterpret_cast<const char*>(g.frames.pcs), static_cast<std::size_t>(g.frames.count) * sizeof(void*));
    const auto [found, is_new] = known_.try_emplace(std::move(key), groups_.size());
    if (is_new) {
        groups_.emplace_back();
        leak_group& group = groups_.back();
        group.name = g.who.name;
        group.state = state;
        group.started = g.who.where;
        group.shortest = std::chrono::nanoseconds::max();
        stacks_.emplace_back();
        leak_report_maker::content::stack& stack = stacks_.back();
        stack.pcs.assign(g.frames.pcs, g.frames.pcs + g.frames.count);
        stack.is_cut = g.frames.count == weft::detail::stack_frames::max;
        stack.is_first_exact = g.state == g_state::running;
        for (std::size_t i = 0; i < labels.size(); ++i) stack.labels.emplace_back(labels[i].key, labels[i].value);
    }
    leak_group& group = groups_[found->second];
    ++group.count;
    if (group.ids.size() < ids_shown) group.ids.push_back(g.who.id);
    if (group.name != g.who.name) group.name.clear();
    const std::chrono::nanoseconds waited(g.since_ns == 0 ? 0 : std::max<int64_t>(0, now_ns - g.since_ns));
    group.shortest = std::min(group.shortest, waited);
    group.longest = std::max(group.longest, waited);
}

void leak_groups::move_to(leak_report_maker::content& c) {
    std::vector<std::size_t> order(groups_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return groups_[a].count != groups_[b].count ? groups_[a].count > groups_[b].count : a < b;
    });
    for (const std::size_t i : order) {
        c.count += groups_[i].count;
        c.groups.push_back(std::move(groups_[i]));
        c.stacks.push_back(std::move(stacks_[i]));
    }
}

namespace {

// In memory, or in the folder for temporary files, where there is no memfd_create (Linux before
// 3.17).
int open_without_name() {
    const int fd = ::memfd_create("weft-leaks", MFD_CLOEXEC);
    return fd >= 0 ? fd : ::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

// A file without a name, to which a report is written.
class report_file {
public:
    report_file() : fd_(open_without_name()) {
        if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "weft: no memory for a report of leaks");
    }

    ~report_file() { ::close(fd_); }

    report_file(const report_file&) = delete;
    report_file& operator=(const report_file&) = delete;

    [[nodiscard]] int fd() const noexcept { return fd_; }

    [[nodiscard]] std::string text() const {
        std::string all;
        char piece[8192];
        for (;;) {
            const ssize_t got = ::pread(fd_, piece, sizeof(piece), static_cast<off_t>(all.size()));
            if (got <= 0) return all;
            all.append(piece, static_cast<std::size_t>(got));
        }
    }

private:
    int fd_;
};

unsigned long long number(uint64_t n) noexcept { return n; }

void print_duration(weft::detail::report& out, std::chrono::nanoseconds d) {
    const int64_t ms = d.count() / 1'000'000;
    if (ms >= 60'000) {
        out.print("%lld minutes", static_cast<long long>(ms / 60'000));
    } else if (ms >= 1'000) {
        out.print("%lld s", static_cast<long long>(ms / 1'000));
    } else {
        out.print("%lld ms", static_cast<long long>(ms));
    }
}

void print_group(weft::detail::report& out, const leak_group& g, const leak_report_maker::content::stack& s) {
    if (g.count == 1) {
        out.print("green thread %llu", number(g.ids.front()));
    } else {
        out.print("%llu green threads", number(g.count));
    }
    if (!g.name.empty()) out.print(" \"%s\"", g.name.c_str());
    out.print(" [%s, ", g.state.c_str());
    if (g.shortest / std::chrono::seconds(1) != g.longest / std::chrono::seconds(1)) {
        print_duration(out, g.shortest);
        out.print(" to ");
    }
    print_duration(out, g.longest);
    out.print("]:\n");
    const weft::detail::report::frame_style style{
        .cut = s.is_cut, .parked = !s.is_first_exact, .exact = s.is_first_exact};
    if (!s.pcs.empty()) out.frames(s.pcs.data(), static_cast<int>(s.pcs.size()), style);
    if (g.count > 1) {
        const char* separator = "    ids ";
        for (const uint64_t id : g.ids) {
            out.print("%s%llu", separator, number(id));
            separator = ", ";
        }
        if (g.count > g.ids.size()) out.print(" and %llu more", number(g.count - g.ids.size()));
        out.print("\n");
    }
    out.print("    started at %s:%u, in %s\n\n", g.started.file_name(), static_cast<unsigned>(g.started.line()),
              g.started.function_name());
}

void print_cycle(weft::detail::report& out, const wait_cycle& c) {
    out.print("a cycle of %llu green threads:\n", number(c.links.size()));
    for (std::size_t i = 0; i < c.links.size(); ++i) {
        const wait_cycle::link& from = c.links[i];
        out.print("    green thread %llu", number(from.id));
        if (!from.name.empty()) out.print(" \"%s\"", from.name.c_str());
        out.print(": %s at %p, which green thread %llu %s\n", from.state.c_str(), from.object,
                  number(c.links[(i + 1) % c.links.size()].id), from.state == "future" ? "must fulfil" : "holds");
    }
    out.print("\n");
}

void print(weft::detail::report& out, const leak_report_maker::content& c) {
    if (!c.not_searched.empty()) out.print("weft: not searched for leaks: %s\n\n", c.not_searched.c_str());
    if (c.not_searched.empty() || c.count != 0) {
        out.print("weft: %llu green thread%s %s\n\n", number(c.count), c.count == 1 ? "" : "s", c.what);
    }
    for (std::size_t i = 0; i < c.groups.size(); ++i) print_group(out, c.groups[i], c.stacks[i]);
    for (const wait_cycle& one : c.cycles) print_cycle(out, one);
}

}  // namespace

}  // namespace detail

uint64_t leak_report::count() const noexcept { return content_->count; }

const std::vector<leak_group>& leak_report::groups() const noexcept { return content_->groups; }

const std::vector<wait_cycle>& leak_report::cycles() const noexcept { return content_->cycles; }

const leak_figures& leak_report::figures() const noexcept { return content_->figures; }

const std::string& leak_report::not_searched() const noexcept { return content_->not_searched; }

std::string leak_report::text() const {
    return blocking([&] {
        const detail::report_file file;
        {
            weft::detail::report out(file.fd());
            detail::print(out, *content_);
        }
        return file.text();
    });
}

profile leak_report::to_profile() const {
    return blocking([&] {
        const detail::value_type goroutines{"goroutineleak", "count"};
        detail::pprof to({&goroutines, 1});
        detail::code_names names(to);
        for (std::size_t i = 0; i < groups().size(); ++i) {
            const leak_group& g = groups()[i];
            const content::stack& s = content_->stacks[i];
            std::vector<uint64_t> locations =
                names.locations_of(s.pcs, s.is_first_exact, detail::shown_frames::from_call);
            if (locations.empty()) {
                locations.push_back(to.add_place({g.started.function_name(), g.started.file_name(), g.started.line()}));
            }
            const std::string started = detail::place_of(g.started);
            std::vector<detail::profile_label> labels{{"wait_reason", g.state}, {"started_at", started}};
            if (!g.name.empty()) labels.push_back({"name", g.name});
            for (const auto& [key, value] : s.labels) labels.push_back({key, value});
            const auto count = static_cast<int64_t>(g.count);
            to.add_sample(locations, {&count, 1}, labels);
        }
        to.set_period(goroutines, 1);
        to.set_time(content_->taken_unix_ns, 0);
        if (!not_searched().empty()) to.add_comment("weft: not searched for leaks: " + not_searched());
        return profile_maker::make(to.finish());
    });
}

}  // namespace weft::observe
