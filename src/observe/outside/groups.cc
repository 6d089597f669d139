// groups.cc: see groups.h.
#include "observe/outside/groups.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <tuple>
#include <unordered_map>

namespace weft::observe::detail {

namespace {

constexpr int attempts = 3;

struct key {
    uint64_t chain;
    uint64_t where;
    uint64_t kind;   // state, wait reason, class
    uint64_t alone;  // the G, if it is not to be grouped

    friend bool operator==(const key&, const key&) = default;
};

struct hash {
    std::size_t operator()(const key& k) const noexcept {
        return static_cast<std::size_t>(((k.chain * 31 + k.where) * 31 + k.kind) * 0x9e3779b97f4a7c15ULL + k.alone);
    }
};

uint64_t kind_of(const seen_g& g) noexcept {
    const uint64_t reason = g.state == seen_state::waiting ? g.reason : 0;
    const auto bit = [](bool set, unsigned at) { return uint64_t{set ? 1U : 0U} << at; };
    return static_cast<uint64_t>(g.state) | reason << 8 | bit(g.is_high, 16) | bit(g.is_low, 17) |
           bit(g.is_pinned, 18) | bit(g.never_ran, 19);
}

class grouping {
public:
    grouping(const seen_runtime& of, target_memory& memory, green_threads& gs, stacks& all_stacks, bool grouped)
        : of_(of), memory_(memory), gs_(gs), stacks_(all_stacks), grouped_(grouped) {}

    void add_chunk(std::vector<seen_g>& chunk, const std::function<bool(const seen_g&)>& wanted) {
        for (int attempt = 1; !chunk.empty(); ++attempt) {
            if (wanted) std::erase_if(chunk, [&](const seen_g& g) { return !wanted(g); });
            std::vector<const chain*> chains = stacks_.of(chunk);
            std::vector<seen_g> again;
            if (!memory_.is_core()) {
                again = chunk;
                gs_.read_again(again);
            }
            std::vector<seen_g> changed;
            for (std::size_t i = 0; i < chunk.size(); ++i) {
                const bool has_changed = !again.empty() && chunk[i].is_parked() && !again[i].is_as(chunk[i]);
                if (!has_changed) {
                    add(chunk[i], chains[i]);
                } else if (attempt == attempts) {
                    add(again[i], nullptr);
                } else if (again[i].state != seen_state::unused) {
                    changed.push_back(again[i]);
                }
            }
            if (attempt == attempts) return;
            chunk = std::move(changed);
        }
    }

    std::vector<g_group> take() {
        std::sort(groups_.begin(), groups_.end(), [](const g_group& a, const g_group& b) {
            return a.count != b.count ? a.count > b.count : a.first.id < b.first.id;
        });
        return std::move(groups_);
    }

private:
    void add(const seen_g& g, const chain* frames) {
        if (g.state == seen_state::unused) return;
        const seen_m* on = nullptr;
        std::string why;
        if (g.state == seen_state::running || g.state == seen_state::in_call) on = of_.runner_of(g.address);
        if (g.state == seen_state::running) {
            frames = frames_of_running(on, why);
        } else if (frames == nullptr && !g.never_ran) {
            why = "it ran while it was read";
        } else if (on != nullptr) {
            // What it has saved is where the call begins. Its thread knows more, if it sleeps.
            const chain* whole = stacks_.of_thread(memory_.registers_of(on->tid));
            const bool is_better = whole != nullptr && whole->is_whole;
            if (is_better && (frames == nullptr || whole->pcs.size() > frames->pcs.size())) frames = whole;
        }
        const bool is_alone = !grouped_ || on != nullptr;
        const key k{frames == nullptr ? ~uint64_t{0} : frames->number, g.where, kind_of(g), is_alone ? g.address : 0};
        const auto [entry, is_new] = by_key_.try_emplace(k, groups_.size());
        if (is_new) {
            groups_.emplace_back();
            groups_.back().frames = frames;
            groups_.back().no_frames = why;
            groups_.back().on = on;
        }
        groups_[entry->second].add(g, gs_);
    }

    const chain* frames_of_running(const seen_m* on, std::string& why) {
        if (on == nullptr) {
            why = "it ran while it was read";
            return nullptr;
        }
        const thread_registers at = memory_.registers_of(on->tid);
        const chain* frames = stacks_.of_thread(at);
        if (frames == nullptr) why = "its thread computes; to read it, stop the process: kill -STOP";
        return frames;
    }

    const seen_runtime& of_;
    target_memory& memory_;
    green_threads& gs_;
    stacks& stacks_;
    bool grouped_;
    std::unordered_map<key, std::size_t, hash> by_key_;
    std::vector<g_group> groups_;
};

}  // namespace

void g_group::add(const seen_g& g, green_threads& gs) {
    if (count++ == 0) {
        first = g;
        oldest_ns = newest_ns = g.since_ns;
        ids = {g.id};
        return;
    }
    same_name = same_name && std::strcmp(first.name, g.name) == 0;
    same_labels = same_labels && (first.labels == g.labels || gs.labels_of(first) == gs.labels_of(g));
    same_parent = same_parent && first.parent == g.parent;
    if (g.id < first.id) first = g;
    if (g.since_ns != 0) {
        oldest_ns = oldest_ns == 0 ? g.since_ns : std::min(oldest_ns, g.since_ns);
        newest_ns = std::max(newest_ns, g.since_ns);
    }
    if (ids.size() == ids_max && g.id > ids.back()) return;
    ids.insert(std::upper_bound(ids.begin(), ids.end(), g.id), g.id);
    if (ids.size() > ids_max) ids.pop_back();
}

void g_group::join(const g_group& other, green_threads& gs) {
    same_name = same_name && other.same_name && std::strcmp(first.name, other.first.name) == 0;
    same_labels = same_labels && other.same_labels && gs.labels_of(first) == gs.labels_of(other.first);
    same_parent = same_parent && other.same_parent && first.parent == other.first.parent;
    if (other.first.id < first.id) first = other.first;
    count += other.count;
    if (other.oldest_ns != 0) oldest_ns = oldest_ns == 0 ? other.oldest_ns : std::min(oldest_ns, other.oldest_ns);
    newest_ns = std::max(newest_ns, other.newest_ns);
    std::vector<uint64_t> all;
    std::merge(ids.begin(), ids.end(), other.ids.begin(), other.ids.end(), std::back_inserter(all));
    all.resize(std::min(all.size(), ids_max));
    ids = std::move(all);
}

std::vector<g_group> groups_of(const seen_runtime& of,
                               target_memory& memory,
                               green_threads& gs,
                               stacks& all_stacks,
                               const std::function<bool(const seen_g&)>& wanted,
                               bool grouped) {
    grouping all(of, memory, gs, all_stacks, grouped);
    gs.for_each_chunk(of, [&](std::vector<seen_g>& chunk) { all.add_chunk(chunk, wanted); });
    return all.take();
}

}  // namespace weft::observe::detail
