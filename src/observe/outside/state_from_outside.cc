// state_from_outside.cc: see state_from_outside.h.
#include "observe/outside/state_from_outside.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "observe/json.h"
#include "observe/outside/green_threads.h"
#include "observe/outside/stacks.h"
#include "os/os.h"

namespace weft::observe::detail {

namespace {

constexpr std::size_t sites_shown = 200;
constexpr std::size_t labels_shown = 50;
constexpr std::size_t objects_shown = 20;

// Waits at no object, or at one at which only one green thread can wait.
constexpr std::string_view alone[] = {"waiting",
                                      "chan receive (nil chan)",
                                      "chan send (nil chan)",
                                      "sleep",
                                      "start",
                                      "select",
                                      "select (no cases)",
                                      "timer",
                                      "I/O read",
                                      "I/O write",
                                      "select (I/O)",
                                      "file",
                                      "process"};

bool has_object(const std::string& doing) noexcept {
    return std::find(std::begin(alone), std::end(alone), doing) == std::end(alone);
}

template <typename Key>
std::vector<std::pair<Key, uint64_t>> sorted(const std::map<Key, uint64_t>& counts) {
    std::vector<std::pair<Key, uint64_t>> all(counts.begin(), counts.end());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    return all;
}

void add_counts(json_text& j, const std::map<std::string, uint64_t>& counts) {
    j.open('[');
    for (const auto& [what, count] : sorted(counts)) j.open('[').value(what).value(count).close(']');
    j.close(']');
}

struct site {
    seen_g one;
    bool same_name = true;
    uint64_t count = 0;
    int64_t oldest_ns = 0;  // 0: unknown
    std::map<std::string, uint64_t> states;
};

struct object {
    uint64_t address;
    std::string reason;

    friend auto operator<=>(const object&, const object&) = default;
};

class reading {
public:
    reading(target_memory& memory, green_threads& gs, const seen_runtime& of) : memory_(memory), gs_(gs), of_(of) {
        gs.for_each_chunk(of, [this](std::vector<seen_g>& chunk) {
            for (const seen_g& g : chunk) add(g);
        });
    }

    [[nodiscard]] uint64_t live() const noexcept { return live_; }

    std::string json(int64_t now_ns, int64_t began_ns) {
        json_text j;
        j.open('{').member("format", "weft.state/1").member("program", memory_.program()).member("pid", memory_.pid());
        j.member("runtime", of_.name).member("condition", memory_.condition()).member("may_record", false);
        j.member("now_ns", now_ns).member("took_ns", weft::detail::os::monotonic_ns() - began_ns);
        add_stats(j);
        add_ps(j);
        add_counts(j.key("states"), states_);
        add_sites(j, now_ns);
        add_labels(j);
        add_objects(j);
        j.close('}');
        return std::move(j).take();
    }

private:
    void add(const seen_g& g) {
        ++live_;
        ++by_state_[g.state];
        const std::string& doing = gs_.doing(g);
        ++states_[doing];
        site& s = sites_[g.where];
        if (s.count++ == 0) s.one = g;
        s.same_name = s.same_name && std::strcmp(s.one.name, g.name) == 0;
        if (g.since_ns != 0 && (s.oldest_ns == 0 || g.since_ns < s.oldest_ns)) s.oldest_ns = g.since_ns;
        ++s.states[doing];
        if (g.labels != 0) ++labels_[gs_.labels_of(g)];
        if (g.state == seen_state::running || g.state == seen_state::in_call) running_[g.address] = g;
        if (g.state == seen_state::waiting && g.waiting != 0 && has_object(doing)) waiting_.push_back(g);
    }

    void add_stats(json_text& j) {
        const auto idle = std::count_if(of_.ps.begin(), of_.ps.end(), [](const seen_p& p) { return p.is_idle; });
        const auto threads = std::count_if(of_.ms.begin(), of_.ms.end(), [](const seen_m& m) { return m.tid != 0; });
        uint64_t switches = 0;
        uint64_t queued = 0;
        for (const seen_p& p : of_.ps) {
            switches += p.switches;
            queued += p.queued;
        }
        j.key("stats").open('{').member("procs", of_.ps.size()).member("procs_idle", idle).member("threads", threads);
        j.member("live", live_).member("runnable", by_state_[seen_state::runnable]);
        j.member("running", by_state_[seen_state::running]).member("in_call", by_state_[seen_state::in_call]);
        j.member("waiting", by_state_[seen_state::waiting]).member("switches", switches);
        j.member("queued_local", queued).member("queued_global", of_.queued_global);
        for (const auto& [name, value] : of_.figures) j.member(name, value);
        j.close('}').key("latency").open('{').member("count", of_.latency.total()).key("buckets").open('[');
        for (std::size_t b = 0; b < latency_histogram::buckets; ++b) {
            if (of_.latency.counts[b] == 0) continue;
            j.open('[').value(latency_histogram::least_ns(b)).value(of_.latency.counts[b]).close(']');
        }
        j.close(']').close('}');
    }

    void add_running(json_text& j, const seen_g& g, const seen_m& on) {
        j.open('{').member("id", g.id);
        if (g.name[0] != '\0') j.member("name", g.name);
        const seen_place& place = gs_.place_of(g);
        j.member("file", place.file).member("line", place.line).member("function", place.function);
        j.member("thread", on.tid).member("in_call", g.state == seen_state::in_call).close('}');
    }

    void add_ps(json_text& j) {
        j.key("procs").open('[');
        for (const seen_p& p : of_.ps) {
            j.open('{')
                .member("index", p.index)
                .member("idle", p.is_idle)
                .member("switches", p.switches)
                .member("queued", p.queued);
            for (const seen_m& m : of_.ms) {
                const auto found = running_.find(m.g != 0 ? m.g : m.lent_by);
                if (!m.has_p || m.p != p.index || found == running_.end()) continue;
                add_running(j.key("runs"), found->second, m);
                break;
            }
            j.close('}');
        }
        j.close(']').key("without_p").open('[');
        for (const seen_m& m : of_.ms) {
            const auto found = running_.find(m.g != 0 ? m.g : m.lent_by);
            if (!m.has_p && found != running_.end()) add_running(j, found->second, m);
        }
        j.close(']');
    }

    void add_sites(json_text& j, int64_t now_ns) {
        std::vector<const site*> all;
        all.reserve(sites_.size());
        for (const auto& [where, s] : sites_) all.push_back(&s);
        std::sort(all.begin(), all.end(), [](const site* a, const site* b) {
            return a->count != b->count ? a->count > b->count : a->one.where < b->one.where;
        });
        const std::size_t shown = std::min(all.size(), sites_shown);
        j.key("sites").open('[');
        for (std::size_t i = 0; i < shown; ++i) {
            const site& s = *all[i];
            const seen_place& place = gs_.place_of(s.one);
            j.open('{').member("file", place.file).member("line", place.line).member("function", place.function);
            if (s.same_name && s.one.name[0] != '\0') j.member("name", s.one.name);
            j.member("count", s.count);
            if (s.oldest_ns != 0) j.member("oldest_ns", std::max<int64_t>(0, now_ns - s.oldest_ns));
            add_counts(j.key("states"), s.states);
            j.close('}');
        }
        j.close(']').member("sites_left_out", all.size() - shown);
    }

    void add_labels(json_text& j) {
        const auto all = sorted(labels_);
        const std::size_t shown = std::min(all.size(), labels_shown);
        j.key("labels").open('[');
        for (std::size_t i = 0; i < shown; ++i)
            j.open('{').member("text", all[i].first).member("count", all[i].second).close('}');
        j.close(']').member("labels_left_out", all.size() - shown).member("labels_are_estimates", false);
    }

    // Channels, mutexes and so on with the most waiters.
    void add_objects(json_text& j) {
        std::map<object, uint64_t> counts;
        const std::vector<uint64_t> at = gs_.objects_of(waiting_);
        for (std::size_t i = 0; i < at.size(); ++i) {
            if (at[i] != 0) ++counts[{at[i], gs_.doing(waiting_[i])}];
        }
        const auto all = sorted(counts);
        j.key("objects").open('[');
        for (std::size_t i = 0; i < std::min(all.size(), objects_shown); ++i) {
            char address[32];
            std::snprintf(address, sizeof(address), "0x%llx", static_cast<unsigned long long>(all[i].first.address));
            j.open('{')
                .member("address", address)
                .member("reason", all[i].first.reason)
                .member("count", all[i].second)
                .close('}');
        }
        j.close(']').member("objects_are_estimates", false);
    }

    target_memory& memory_;
    green_threads& gs_;
    const seen_runtime& of_;
    uint64_t live_ = 0;
    std::map<seen_state, uint64_t> by_state_;
    std::map<std::string, uint64_t> states_;
    std::map<uint64_t, site> sites_;
    std::map<std::string, uint64_t> labels_;
    std::map<uint64_t, seen_g> running_;  // by address
    std::vector<seen_g> waiting_;
};

}  // namespace

std::string state_from_outside(target_memory& memory, code& program, layout& where) {
    const int64_t began_ns = weft::detail::os::monotonic_ns();
    green_threads gs(memory, program, where);
    const std::vector<seen_runtime> all = gs.runtimes();
    if (all.empty()) throw std::runtime_error("weft: no runtime of weft has been started, or all have ended");
    std::string text;
    uint64_t most = 0;
    for (const seen_runtime& one : all) {
        reading r(memory, gs, one);
        if (!text.empty() && r.live() <= most) continue;
        most = r.live();
        text = r.json(gs.now_ns(all), began_ns);
    }
    return text;
}

}  // namespace weft::observe::detail
