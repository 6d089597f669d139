// top_screen.cc: see top_screen.h.
#include "top_screen.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace {

constexpr std::size_t procs_max = 16;
constexpr std::size_t without_p_max = 8;

template <typename... Values>
std::string format(const char* how, Values... values) {
    char text[512];
    std::snprintf(text, sizeof(text), how, values...);
    return text;
}

std::string padded(std::string text, std::size_t width) {
    if (text.size() < width) text.append(width - text.size(), ' ');
    return text;
}

std::string right(const std::string& text, std::size_t width) {
    return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string duration(double ns) {
    if (ns < 1e3) return format("%.0f ns", ns);
    if (ns < 1e6) return format("%.0f us", ns / 1e3);
    if (ns < 1e9) return format("%.0f ms", ns / 1e6);
    if (ns < 60e9) return format("%.0f s", ns / 1e9);
    return ns < 3600e9 ? format("%.0f min", ns / 60e9) : format("%.1f h", ns / 3600e9);
}

std::string bytes(double n) {
    if (n < 1024) return format("%.0f B", n);
    if (n < 1024.0 * 1024) return format("%.0f KiB", n / 1024);
    if (n < 1024.0 * 1024 * 1024) return format("%.0f MiB", n / 1024 / 1024);
    return format("%.1f GiB", n / 1024 / 1024 / 1024);
}

std::string whole(const json_value& v) { return v.is_null() ? "-" : format("%.0f", v.number()); }

std::string short_number(double n) {
    if (n < 10) return format(n == static_cast<double>(static_cast<std::int64_t>(n)) ? "%.0f" : "%.1f", n);
    if (n < 10e3) return format("%.0f", n);
    return n < 10e6 ? format("%.0f k", n / 1e3) : format("%.0f M", n / 1e6);
}

// The program may say anything in a name; a terminal must not obey it.
std::string printable(std::string text) {
    for (char& c : text) {
        if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
    }
    return text;
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string place(const json_value& of) { return printable(file_name(of["file"].text())) + ":" + whole(of["line"]); }

class maker {
public:
    maker(const json_value& now, const json_value& before) : now_(now), before_(before) {
        seconds_ = before.is_null() ? 0 : (now["now_ns"].number() - before["now_ns"].number()) / 1e9;
    }

    std::vector<std::string> head() {
        std::vector<std::string> lines;
        const json_value& stats = now_["stats"];
        std::string first = printable(now_["program"].text()) + ", process " + whole(now_["pid"]) + ", runtime \"" +
                            printable(now_["runtime"].text()) + "\"";
        if (!now_["condition"].is_null()) first += ", " + now_["condition"].text();
        lines.push_back(first + "; read in " + duration(now_["took_ns"].number()));
        const auto stat = [&](const char* name) { return whole(stats[name]); };
        lines.push_back("green threads  " + stat("live") + ": " + stat("runnable") + " runnable, " + stat("running") +
                        " running, " + stat("in_call") + " in a call, " + stat("waiting") + " waiting; started " +
                        rate("spawned") + "/s, ended " + rate("finished") + "/s");
        lines.push_back("Ps             " + stat("procs") + " (" + stat("procs_idle") + " idle); threads " +
                        stat("threads") + " (" + stat("threads_idle") + " idle, " + stat("threads_spinning") +
                        " searching, " + stat("threads_without_p") + " without a P)");
        lines.push_back("queues         local " + stat("queued_local") + ", global " + stat("queued_global") +
                        ", high " + stat("queued_high") + ", low " + stat("queued_low"));
        lines.push_back("per second     schedules " + rate("switches") + ", waits " + rate("parks") + ", timers " +
                        rate("timers_fired") + ", steals " + rate("steals") + ", wakes " + rate("wakes") +
                        ", overflows " + rate("overflows"));
        lines.push_back("Ps retaken     blocked " + total("retakes_blocked") + ", computing " +
                        total("retakes_burning") + ", in a call " + total("retakes_in_call") + "; handed off " +
                        total("hand_offs") + "; asked to yield " + total("yield_requests") + ", yielded " +
                        total("preemptions"));
        for (const auto& [field, title] :
             {std::pair{"latency", "scheduling"}, {"timer_lateness", "timers late"}, {"poll_delay", "poll delay"}}) {
            if (!now_[field].is_null()) add_latency(lines, field, title);
        }
        if (!now_["stacks"].is_null()) lines.push_back(stack_line());
        add_procs(lines);
        return lines;
    }

    // Adds rows in the order of the state: the largest count first.
    void add_rows(top_screen& screen, top_view view, top_order order) {
        struct entry {
            top_row row;
            double count;
            double oldest;
            std::string name;
        };

        std::vector<entry> all;
        switch (view) {
            case top_view::sites:
                screen.columns = "   COUNT     OLDEST  STARTED AT                NAME          STATES";
                for (const json_value& s : now_["sites"].items()) {
                    std::string states;
                    for (const json_value& one : s["states"].items()) {
                        states += (states.empty() ? "" : ", ") + one[0].text() + " " + whole(one[1]);
                    }
                    const std::string name = printable(s["name"].text());
                    const bool is_timed = !s["oldest_ns"].is_null();
                    const std::string oldest = is_timed ? duration(s["oldest_ns"].number()) : "-";
                    all.push_back({{right(whole(s["count"]), 8) + right(oldest, 11) + "  " + padded(place(s), 26) +
                                        padded(name, 14) + states,
                                    {view, s["file"].text(), static_cast<unsigned>(s["line"].count()), ""}},
                                   s["count"].number(),
                                   s["oldest_ns"].number(),
                                   place(s)});
                }
                break;
            case top_view::states:
                screen.columns = "   COUNT  STATE OR WAIT";
                for (const json_value& s : now_["states"].items()) {
                    all.push_back({{right(whole(s[1]), 8) + "  " + s[0].text(), {view, "", 0, s[0].text()}},
                                   s[1].number(),
                                   0,
                                   s[0].text()});
                }
                break;
            case top_view::labels:
                screen.columns = "   COUNT  LABELS";
                for (const json_value& s : now_["labels"].items()) {
                    const std::string& text = s["text"].text();
                    all.push_back({{right(whole(s["count"]), 8) + "  " + printable(text), {view, "", 0, text}},
                                   s["count"].number(),
                                   0,
                                   text});
                }
                break;
            case top_view::objects:
                screen.columns = "   COUNT  WAIT                      AT";
                for (const json_value& s : now_["objects"].items()) {
                    const std::string& reason = s["reason"].text();
                    all.push_back({{right(whole(s["count"]), 8) + "  " + padded(reason, 26) + s["address"].text(),
                                    {view, "", 0, reason}},
                                   s["count"].number(),
                                   0,
                                   s["address"].text()});
                }
                break;
        }
        std::sort(all.begin(), all.end(), [order](const entry& a, const entry& b) {
            if (order == top_order::oldest && a.oldest != b.oldest) return a.oldest > b.oldest;
            if (order != top_order::name && a.count != b.count) return a.count > b.count;
            return a.name < b.name;
        });
        for (entry& e : all) screen.rows.push_back(std::move(e.row));
        const json_value& left_out = now_[view == top_view::sites ? "sites_left_out" : "labels_left_out"];
        const bool has_more = left_out.count() != 0 && (view == top_view::sites || view == top_view::labels);
        if (has_more) screen.left_out = "and " + whole(left_out) + " more with fewer green threads";
    }

private:
    // Of a counter, per second. "-": unknown.
    [[nodiscard]] std::string rate(const char* name) const {
        const json_value& value = now_["stats"][name];
        const json_value& earlier = before_["stats"][name];
        if (value.is_null() || earlier.is_null() || seconds_ <= 0) return "-";
        return short_number(std::max(0.0, value.number() - earlier.number()) / seconds_);
    }

    // A counter, and what it has grown by each second, if it has.
    [[nodiscard]] std::string total(const char* name) const {
        const std::string each = rate(name);
        const std::string all = whole(now_["stats"][name]);
        return each == "-" || each == "0" ? all : all + " (" + each + "/s)";
    }

    struct bucket {
        double least_ns;
        double count;
    };

    // Those since the earlier state, or of all time if nothing happened since.
    [[nodiscard]] std::vector<bucket> buckets_of(const char* field) const {
        std::vector<bucket> recent;
        std::vector<bucket> all;
        double sum = 0;
        for (const json_value& b : now_[field]["buckets"].items()) {
            double earlier = 0;
            for (const json_value& e : before_[field]["buckets"].items()) {
                if (e[0].number() == b[0].number()) earlier = e[1].number();
            }
            all.push_back({b[0].number(), b[1].number()});
            recent.push_back({b[0].number(), b[1].number() - earlier});
            sum += recent.back().count;
        }
        return sum > 0 ? recent : all;
    }

    void add_latency(std::vector<std::string>& lines, const char* field, const char* title) const {
        const std::vector<bucket> all = buckets_of(field);
        double sum = 0;
        for (const bucket& b : all) sum += b.count;
        const auto quantile = [&](double q) {
            double seen = 0;
            for (const bucket& b : all) {
                seen += b.count;
                if (seen >= q * sum) return duration(b.least_ns);
            }
            return std::string("-");
        };
        if (sum == 0) {
            lines.push_back(padded(title, 15) + "nothing was measured");
            return;
        }
        lines.push_back(padded(title, 15) + "half from " + quantile(0.5) + ", 1 % from " + quantile(0.99) +
                        ", longest from " + duration(all.back().least_ns) + "; of " + short_number(sum));
        lines.push_back(std::string(15, ' ') + histogram(all, sum));
    }

    // "1 us 20 %, 4 us 70 %, 16 us 10 %": parts by powers of four.
    static std::string histogram(const std::vector<bucket>& all, double sum) {
        std::string text;
        double limit = 1024;
        double from = 0;
        double part = 0;
        const auto end_part = [&] {
            if (part > 0) text += (text.empty() ? "" : " | ") + duration(from) + format(" %.0f %%", 100 * part / sum);
            part = 0;
        };
        for (const bucket& b : all) {
            while (b.least_ns >= limit) {
                end_part();
                from = limit;
                limit *= 4;
            }
            part += b.count;
        }
        end_part();
        return text;
    }

    [[nodiscard]] std::string stack_line() const {
        const json_value& stacks = now_["stacks"];
        const double touched = stacks["touched_average"].number();
        return "stacks         " + whole(stacks["bound"]) + " in use; " + bytes(touched) + " of each touched (of " +
               whole(stacks["measured"]) + " measured), so " + bytes(touched * stacks["bound"].number()) + "; " +
               bytes(stacks["default_size"].number()) + " each at most";
    }

    static std::string who_runs(const json_value& g) {
        const std::string name = g["name"].is_null() ? "" : " \"" + printable(g["name"].text()) + "\"";
        std::string text = whole(g["id"]) + name + " (" + place(g) + ") on thread " + whole(g["thread"]);
        if (g["in_call"].is_true()) text += ", in a call";
        return g["since_ns"].is_null() ? text : text + ", for " + duration(g["since_ns"].number());
    }

    void add_procs(std::vector<std::string>& lines) const {
        lines.push_back("");
        lines.push_back("   P  SCHEDULES/S  QUEUED  RUNS");
        const std::vector<json_value>& all = now_["procs"].items();
        for (std::size_t i = 0; i < std::min(all.size(), procs_max); ++i) {
            const json_value& p = all[i];
            const json_value& earlier = before_["procs"][i]["switches"];
            const bool has_rate = !earlier.is_null() && seconds_ > 0;
            const double per_second =
                has_rate ? std::max(0.0, p["switches"].number() - earlier.number()) / seconds_ : 0;
            const std::string runs = !p["runs"].is_null() ? who_runs(p["runs"]) : p["idle"].is_true() ? "(idle)" : "";
            lines.push_back(right(whole(p["index"]), 4) + right(has_rate ? short_number(per_second) : "-", 13) +
                            right(whole(p["queued"]), 8) + "  " + runs);
        }
        if (all.size() > procs_max) lines.push_back("      and " + std::to_string(all.size() - procs_max) + " more Ps");
        const std::vector<json_value>& others = now_["without_p"].items();
        for (std::size_t i = 0; i < std::min(others.size(), without_p_max); ++i) {
            lines.push_back("   -" + std::string(23, ' ') + who_runs(others[i]));
        }
        if (others.size() > without_p_max) {
            lines.push_back("      and " + std::to_string(others.size() - without_p_max) + " more threads without a P");
        }
    }

    const json_value& now_;
    const json_value& before_;
    double seconds_ = 0;
};

bool is_in(const json_value& group, const top_filter& which) {
    switch (which.view) {
        case top_view::sites:
            return group["started"]["file"].text() == which.file && group["started"]["line"].count() == which.line;
        case top_view::states:
        case top_view::objects: {
            const json_value& reason = group["reason"];
            return (reason.is_null() ? group["state"].text() : reason.text()) == which.text;
        }
        case top_view::labels:
            return group["labels"].text() == which.text;
    }
    return false;
}

// "100 green threads "worker" [chan receive, 1 s to 2 s]:"
std::string headline(const json_value& group) {
    const std::uint64_t count = group["count"].count();
    std::string text = count == 1 ? "green thread " + whole(group["ids"][0]) : whole(group["count"]) + " green threads";
    if (!group["name"].is_null()) text += " \"" + printable(group["name"].text()) + "\"";
    text += " [" + (group["reason"].is_null() ? group["state"].text() : group["reason"].text());
    const json_value& since = group["since_ns"];
    if (!since.is_null()) {
        const std::string shortest = duration(since[0].number());
        const std::string longest = duration(since[1].number());
        text += ", " + (shortest == longest ? longest : shortest + " to " + longest);
    }
    return text + "]:";
}

void add_group(std::vector<std::string>& lines, const json_value& group) {
    lines.push_back(headline(group));
    int index = 0;
    std::string called;  // the public function of weft in which the frames inside are
    for (const json_value& f : group["stack"].items()) {
        const std::string& kind = f["kind"].text();
        if (kind == "interface") called = printable(f["function"].text());
        if (kind == "interface" || kind == "runtime" || kind == "glue") continue;
        if (!called.empty()) lines.push_back((index == 0 ? "    … parked in " : "    … in ") + called);
        called.clear();
        std::string text = format("    #%-2d ", index++) +
                           (f["function"].is_null() ? f["pc"].text() : printable(f["function"].text()));
        if (!f["file"].is_null()) text += " at " + place(f);
        lines.push_back(text + (f["inlined"].is_true() ? " (inlined)" : ""));
    }
    if (index == 0)
        lines.push_back("    (" +
                        (group["no_stack"].is_null() ? std::string("not started") : group["no_stack"].text()) + ")");
    if (!group["labels"].is_null()) lines.push_back("    labels " + printable(group["labels"].text()));
    const json_value& started = group["started"];
    lines.push_back("    started at " + place(started) + ", in " + printable(started["function"].text()));
    lines.push_back("");
}

}  // namespace

top_screen make_screen(const json_value& now, const json_value& before, top_view view, top_order order) {
    top_screen screen;
    maker m(now, before);
    screen.head = m.head();
    m.add_rows(screen, view, order);
    return screen;
}

std::vector<std::string> stacks_of(const json_value& all, const top_filter& which) {
    std::vector<std::string> lines;
    for (const json_value& group : all.items()) {
        if (is_in(group, which)) add_group(lines, group);
    }
    if (lines.empty()) lines.push_back("no group has only these green threads");
    return lines;
}

const char* text_of(top_view view) noexcept {
    switch (view) {
        case top_view::sites:
            return "place of start";
        case top_view::states:
            return "state";
        case top_view::labels:
            return "labels";
        case top_view::objects:
            return "object that they wait at";
    }
    return "?";
}

const char* text_of(top_order order) noexcept {
    switch (order) {
        case top_order::count:
            return "count";
        case top_order::oldest:
            return "oldest";
        case top_order::name:
            return "name";
    }
    return "?";
}
