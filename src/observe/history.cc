// history.cc: see history.h.
#include "observe/history.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "debug/g_snapshot.h"

namespace weft::observe::detail {

namespace {

class collector final : public teller {
public:
    explicit collector(const recorded& r) : r_(r) {}

    history take() {
        replay(r_, *this);
        return std::move(h_);
    }

    void changes(const change& c) override {
        const std::size_t at = index_of(c.before);
        open_state& open = open_[at];
        add_until(at, c.before, c.ns, c.after == life::ended && c.ns == r_.ended_ns);
        h_.gs[at].has_ended = c.after == life::ended && c.ns != r_.ended_ns;
        if (c.after != life::runnable) open.waker = no_g;
        open.moved_ns = c.ns;
    }

    void moves(int64_t ns, const track& g, uint32_t from_p, uint32_t /*to_p*/) override {
        const std::size_t at = index_of(g);
        add(at, {.from_ns = (std::max)(g.since_ns, open_[at].moved_ns),
                 .to_ns = ns,
                 .what = life::running,
                 .p = from_p,
                 .labels = g.labels});
        open_[at].moved_ns = ns;
    }

    void relabels(int64_t ns, const track& g, uint32_t /*labels*/, uint32_t /*thread*/) override {
        const std::size_t at = index_of(g);
        add_until(at, g, ns, false);
        open_[at].moved_ns = ns;
    }

    void wakes(const wake_up& w) override {
        const std::size_t at = index_of(w.woken);
        const std::size_t waker = w.waker == nullptr ? no_g : index_of(*w.waker);
        if (w.woken.now == life::unknown) h_.gs[at].has_started = true;
        if (w.woken.now == life::waiting || w.woken.now == life::unknown) {
            open_[at].waker = waker;
            return;
        }
        // It runs already: see skew_ns.
        std::vector<interval>& before = h_.gs[at].intervals;
        if (!before.empty() && before.back().what == life::waiting) before.back().waker = waker;
    }

    void begin_region(int64_t ns, const track& g, const char* name) override {
        const std::size_t at = index_of(g);
        open_[at].regions.push_back(h_.regions.size());
        h_.regions.push_back({at, name, ns, ns});
    }

    void end_region(int64_t ns, const track& g) override {
        const std::size_t at = index_of(g);
        std::vector<std::size_t>& open = open_[at].regions;
        if (open.empty()) return;
        region_history& ended = h_.regions[open.back()];
        open.pop_back();
        ended.to_ns = ns;
        ended.is_open = ns == r_.ended_ns;
    }

    void counter(int64_t /*ns*/, uint32_t /*thread*/, const char* /*name*/, double /*value*/) override {}

    void log(int64_t /*ns*/, const track* /*g*/, uint32_t /*thread*/, const std::string& /*text*/) override {}

    void thread_event(const step& s) override {
        if (s.kind == weft::detail::event_kind::cpu_delay)
            h_.cpu_delays_ns[static_cast<uint32_t>(s.id)] += static_cast<double>(s.argument);
    }

private:
    struct open_state {
        std::size_t waker = no_g;
        int64_t moved_ns = 0;  // its last change
        std::vector<std::size_t> regions;
    };

    std::size_t index_of(const track& g) {
        const auto [found, is_new] = indices_.try_emplace(g.id, h_.gs.size());
        if (is_new) {
            h_.gs.emplace_back().id = g.id;
            open_.emplace_back().moved_ns = g.since_ns;
        }
        g_history& known = h_.gs[found->second];
        if (known.title.empty() || g.name != names_of_[g.id]) {
            known.title = printable(title_of(r_, g));
            names_of_[g.id] = g.name;
        }
        if (known.site == 0) known.site = g.site;
        return found->second;
    }

    // What g did until now, since it last changed.
    void add_until(std::size_t at, const track& g, int64_t ns, bool is_open) {
        if (g.now == life::unknown || g.now == life::ended) return;
        interval i{.from_ns = (std::max)(g.since_ns, open_[at].moved_ns), .to_ns = ns, .what = g.now};
        i.is_open = is_open;
        i.labels = g.labels;
        if (i.what == life::waiting) i.reason = g.reason;
        if (i.what == life::waiting) i.stack = g.stack;
        if (i.what == life::waiting || i.what == life::runnable) i.waker = open_[at].waker;
        if (i.what == life::running) i.p = g.p;
        add(at, i);
    }

    void add(std::size_t at, const interval& i) {
        if (i.to_ns <= i.from_ns) return;
        h_.gs[at].intervals.push_back(i);
        if (i.what == life::running && i.p != no_p) h_.ps[i.p].push_back({i.from_ns, i.to_ns, at});
    }

    const recorded& r_;
    history h_;
    std::vector<open_state> open_;
    std::unordered_map<uint64_t, std::size_t> indices_;
    std::unordered_map<uint64_t, uint32_t> names_of_;
};

}  // namespace

history history_of(const recorded& r) { return collector(r).take(); }

std::string printable(std::string_view text) {
    std::string plain;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\n') {
            plain += "\\n";
        } else if (byte < 0x20 || byte == 0x7f) {
            char code[8];
            std::snprintf(code, sizeof(code), "\\x%02x", byte);
            plain += code;
        } else {
            plain += c;
        }
    }
    return plain;
}

std::string duration_text(int64_t ns) { return duration_text(static_cast<double>(ns)); }

std::string duration_text(double ns) {
    struct unit {
        double ns;
        const char* name;
    };

    constexpr std::array<unit, 3> units = {{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}}};
    char text[40];
    for (const unit& u : units) {
        const double value = ns / u.ns;
        if (value < 1) continue;
        const int digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
        std::snprintf(text, sizeof(text), "%.*f %s", digits, value, u.name);
        return text;
    }
    std::snprintf(text, sizeof(text), "%.0f ns", ns);
    return text;
}

std::string padded(const std::string& text, std::size_t width) {
    return text.size() >= width ? text : std::string(width - text.size(), ' ') + text;
}

std::string title_and_place(const recorded& r, const g_history& g) {
    const std::string where = place_of(r, g.site);
    return where.empty() ? g.title : g.title + " (" + where + ")";
}

std::string text_of(const interval& i) {
    switch (i.what) {
        case life::running:
            return i.p == no_p ? "runs without a P" : "runs";
        case life::runnable:
            return "is runnable";
        case life::in_call:
            return "is in a blocking call";
        case life::waiting:
            return std::string("waits: ") + weft::detail::text(static_cast<weft::detail::wait_reason>(i.reason));
        default:
            return "is not known to have started";
    }
}

}  // namespace weft::observe::detail
