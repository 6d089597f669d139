// filter.cc: see filter.h.
#include "observe/filter.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "observe/timeline.h"

namespace weft::observe::detail {

namespace {

using weft::detail::event_kind;

// What a green thread has, or had at some time. A filter may ask for several.
struct matched {
    bool name = false;
    bool label = false;
    bool place = false;
};

class matcher {
public:
    matcher(const recorded& all, const green_thread_filter& filter) : r_(all), filter_(filter) {
        for (const known_g& g : all.gs) {
            look_at_name(g.id, g.name);
            look_at_labels(g.id, g.labels);
            look_at_place(g.id, g.site);
        }
        for (const step& s : all.steps) {
            if (s.kind == event_kind::name) look_at_name(s.id, s.text);
            if (s.kind == event_kind::labels) look_at_labels(s.id, s.text);
            if (s.kind == event_kind::spawn) look_at_place(s.id, s.argument);
        }
    }

    [[nodiscard]] bool matches(uint64_t id) const {
        const auto found = gs_.find(id);
        if (found == gs_.end()) return false;
        const matched& m = found->second;
        return (m.name || filter_.name.empty()) && (m.label || filter_.label.empty()) &&
               (m.place || filter_.started.empty());
    }

private:
    void look_at_name(uint64_t id, uint32_t name) {
        if (!filter_.name.empty() && r_.texts[name] == filter_.name) gs_[id].name = true;
    }

    void look_at_labels(uint64_t id, uint32_t labels) {
        if (filter_.label.empty()) return;
        for_each_label(r_.texts[labels], [&](std::string_view key, std::string_view value) {
            const std::string_view wanted = filter_.label;
            const std::size_t size = key.size();
            if (wanted == key || (wanted.size() == size + 1 + value.size() && wanted.substr(0, size) == key &&
                                  wanted[size] == '=' && wanted.substr(size + 1) == value))
                gs_[id].label = true;
        });
    }

    void look_at_place(uint64_t id, uint64_t site) {
        if (filter_.started.empty()) return;
        const auto [found, is_new] = sites_.try_emplace(site, false);
        if (is_new) {
            const std::string place = place_of(r_, site);
            found->second = place == filter_.started || place.substr(0, place.rfind(':')) == filter_.started;
        }
        if (found->second) gs_[id].place = true;
    }

    const recorded& r_;
    const green_thread_filter& filter_;
    std::unordered_map<uint64_t, matched> gs_;
    std::unordered_map<uint64_t, bool> sites_;  // whether they match
};

// Whether the id of a step is that of a green thread.
bool is_of_g(const step& s) noexcept {
    switch (s.kind) {
        case event_kind::thread:
        case event_kind::p_taken:
        case event_kind::p_given:
        case event_kind::steal:
        case event_kind::poll:
        case event_kind::timers:
        case event_kind::sleep:
        case event_kind::cpu_delay:
            return false;
        default:
            return s.id != 0;  // 0: a plain thread
    }
}

}  // namespace

bool matches_all(const green_thread_filter& filter) noexcept {
    return filter.name.empty() && filter.label.empty() && filter.started.empty();
}

recorded filtered(const recorded& all, const green_thread_filter& filter) {
    recorded some = all;
    const matcher m(all, filter);
    some.is_filtered = true;
    some.steps.clear();
    std::unordered_set<uint32_t> counting;  // threads whose counter was kept, and whose value comes next
    for (const step& s : all.steps) {
        const bool is_kept =
            s.kind == event_kind::value ? counting.erase(s.thread) != 0 : !is_of_g(s) || m.matches(s.id);
        if (!is_kept) continue;
        if (s.kind == event_kind::counter) counting.insert(s.thread);
        some.steps.push_back(s);
    }
    some.gs.clear();
    for (const known_g& g : all.gs) {
        if (m.matches(g.id)) some.gs.push_back(g);
    }
    return some;
}

}  // namespace weft::observe::detail
