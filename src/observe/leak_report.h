// leak_report.h: what a leak_report has, and how it is made.
//
// Threads: one, until it is published.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <weft/labels.h>
#include <weft/observe/leaks.h>

#include "debug/g_snapshot.h"
#include "observe/subject.h"

namespace weft::observe {

struct leak_report::content {
    // What a leak_group does not show.
    struct stack {
        std::vector<const void*> pcs;  // empty: unknown
        bool is_cut = false;
        bool is_first_exact = false;
        std::vector<std::pair<std::string, std::string>> labels;
    };

    std::vector<leak_group> groups;
    std::vector<stack> stacks;  // of each group
    std::vector<wait_cycle> cycles;
    leak_figures figures;
    std::string not_searched;
    const char* what = "leaked";  // the verb of the headline
    uint64_t count = 0;
    int64_t taken_unix_ns = 0;
};

struct leak_report_maker {
    [[nodiscard]] static leak_report make(leak_report::content&& c) {
        leak_report r;
        r.content_ = std::make_shared<const leak_report::content>(std::move(c));
        return r;
    }

    using content = leak_report::content;
};

namespace detail {

// leaks() of this runtime.
[[nodiscard]] leak_report search_for_leaks_of(const subject& of, const leak_options& options);

// Groups green threads.
class leak_groups {
public:
    void add(const weft::detail::g_snapshot& g, const label_set& labels, int64_t now_ns);

    // Into c; the largest first.
    void move_to(leak_report_maker::content& c);

private:
    std::vector<leak_group> groups_;
    std::vector<leak_report_maker::content::stack> stacks_;
    std::unordered_map<std::string, std::size_t> known_;
};

}  // namespace detail

}  // namespace weft::observe
