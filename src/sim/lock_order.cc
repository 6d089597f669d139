// lock_order.cc: see lock_order.h.
#include "sim/lock_order.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "sim/order.h"

namespace weft::sim {

namespace {

using weft::detail::operation;

// Of the same green thread and locks: others may have been made in another order, or without a
// gate.
constexpr std::size_t most_alike = 8;
constexpr std::size_t most_edges = 2'000;
constexpr std::size_t most_in_cycle = 6;
constexpr uint64_t most_tried = 200'000;  // edges, in one search
constexpr std::size_t most_logged = 1'000'000;

bool waits_for_lock(operation what) noexcept {
    return what == operation::mutex_lock || what == operation::shared_mutex_lock ||
           what == operation::shared_mutex_lock_shared;
}

bool tries_lock(operation what) noexcept {
    return what == operation::mutex_try_lock || what == operation::shared_mutex_try_lock ||
           what == operation::shared_mutex_try_lock_shared;
}

bool unlocks(operation what) noexcept {
    return what == operation::mutex_unlock || what == operation::shared_mutex_unlock;
}

bool is_about_lock(operation what) noexcept { return waits_for_lock(what) || tries_lock(what) || unlocks(what); }

bool shares(operation what) noexcept {
    return what == operation::shared_mutex_lock_shared || what == operation::shared_mutex_try_lock_shared;
}

struct holding {
    std::size_t lock;  // its number
    bool shared;
    std::size_t at;  // in the log
};

// An edge, and what must be known to judge it.
struct wait_edge {
    uint32_t g;
    holding held;
    holding wanted;
    std::vector<holding> all_held;
    order::moment when{};
};

using wait_edges = std::vector<wait_edge>;

// Reads a log once, in its order.
class edge_reader {
public:
    explicit edge_reader(const std::vector<lock_order::entry>& log) : log_(log) { find_failed_tries(); }

    wait_edges read() {
        for (std::size_t i = 0; i < log_.size(); ++i) {
            const lock_order::entry& e = log_[i];
            if (e.kind == lock_order::event::end) numbers_.erase(e.object);
            if (e.kind != lock_order::event::operation || !is_about_lock(e.what)) continue;
            const std::size_t lock = numbers_.try_emplace(e.object, last_number_ + 1).first->second;
            last_number_ = std::max(last_number_, lock);
            const holding asked{lock, shares(e.what), i};
            if (waits_for_lock(e.what)) {
                wait_for(e.g, asked);
            } else if (tries_lock(e.what)) {
                if (!failed_[i] && !is_held(e.g, asked)) held_[e.g].push_back(asked);
            } else {
                release(e.g, lock);
            }
        }
        return std::move(edges_);
    }

private:
    using key = std::pair<uint32_t, const void*>;

    // Backwards: a try has failed if no unlock follows before the next attempt.
    void find_failed_tries() {
        failed_.resize(log_.size());
        std::map<key, uint32_t> unlocked;
        for (std::size_t i = log_.size(); i-- != 0;) {
            const lock_order::entry& e = log_[i];
            if (e.kind != lock_order::event::operation || !is_about_lock(e.what)) continue;
            uint32_t& left = unlocked[{e.g, e.object}];
            if (unlocks(e.what)) {
                ++left;
            } else if (left != 0) {
                --left;
            } else {
                failed_[i] = tries_lock(e.what);
            }
        }
    }

    // A try fails then.
    bool is_held(uint32_t g, const holding& asked) const {
        const auto mine = held_.find(g);
        return mine != held_.end() && std::any_of(mine->second.begin(), mine->second.end(), [&](const holding& h) {
                   return h.lock == asked.lock && !(h.shared && asked.shared);
               });
    }

    void wait_for(uint32_t g, const holding& wanted) {
        std::vector<holding>& mine = held_[g];
        for (const holding& h : mine) {
            if (h.lock == wanted.lock || edges_.size() == most_edges) continue;
            if (++alike_[{g, h.lock, wanted.lock}] <= most_alike) edges_.push_back({g, h, wanted, mine});
        }
        mine.push_back(wanted);
    }

    void release(uint32_t g, std::size_t lock) {
        if (release_of(held_[g], lock)) return;
        for (auto& [other, all] : held_)
            if (release_of(all, lock)) return;
    }

    static bool release_of(std::vector<holding>& all, std::size_t lock) {
        const auto last = std::find_if(all.rbegin(), all.rend(), [lock](const holding& h) { return h.lock == lock; });
        if (last == all.rend()) return false;
        all.erase(std::next(last).base());
        return true;
    }

    const std::vector<lock_order::entry>& log_;
    std::vector<bool> failed_;  // tries, by their places in the log
    std::map<uint32_t, std::vector<holding>> held_;
    std::unordered_map<const void*, std::size_t> numbers_;
    std::size_t last_number_ = 0;
    std::map<std::tuple<uint32_t, std::size_t, std::size_t>, std::size_t> alike_;
    wait_edges edges_;
};

// Whether the two green threads can be there together, but for the order.
bool has_gate(const wait_edge& a, const wait_edge& b) noexcept {
    for (const holding& x : a.all_held)
        for (const holding& y : b.all_held)
            if (x.lock == y.lock && !(x.shared && y.shared)) return true;
    return false;
}

class cycle_search {
public:
    cycle_search(const wait_edges& all, bool by_order) : all_(all), by_order_(by_order) {
        for (std::size_t i = 0; i < all.size(); ++i) from_[all[i].held.lock].push_back(i);
    }

    std::vector<std::size_t> find() {
        for (std::size_t i = 0; i < all_.size(); ++i) {
            path_ = {i};
            if (extend()) return path_;
        }
        return {};
    }

private:
    // What next holds is what last waits for.
    bool blocks(const wait_edge& last, const wait_edge& next) const noexcept {
        return last.wanted.lock == next.held.lock && !(last.wanted.shared && next.held.shared);
    }

    bool fits(std::size_t next) const noexcept {
        return std::none_of(path_.begin(), path_.end(), [&](std::size_t i) {
            const wait_edge& a = all_[i];
            const wait_edge& b = all_[next];
            if (a.g == b.g || a.held.lock == b.held.lock || has_gate(a, b)) return true;
            return by_order_ && (order::is_before(a.when, b.when) || order::is_before(b.when, a.when));
        });
    }

    bool extend() {
        if (path_.size() > 1 && blocks(all_[path_.back()], all_[path_.front()])) return true;
        if (path_.size() == most_in_cycle) return false;
        const auto next = from_.find(all_[path_.back()].wanted.lock);
        if (next == from_.end()) return false;
        for (const std::size_t i : next->second) {
            if (++tried_ > most_tried) return false;
            // A cycle is found from the first of its edges.
            if (i < path_.front() || !blocks(all_[path_.back()], all_[i]) || !fits(i)) continue;
            path_.push_back(i);
            if (extend()) return true;
            path_.pop_back();
        }
        return false;
    }

    const wait_edges& all_;
    const bool by_order_;
    std::unordered_map<std::size_t, std::vector<std::size_t>> from_;
    std::vector<std::size_t> path_;
    uint64_t tried_ = 0;
};

// Notes when each edge was made. A lock orders nothing here: the next schedule may turn it round.
// So what makes a waiter of a lock runnable is left out.
void note_order(const std::vector<lock_order::entry>& log, wait_edges& edges) {
    order happened;
    std::vector<operation> last;  // by green thread
    std::size_t next = 0;
    for (std::size_t i = 0; i < log.size(); ++i) {
        const lock_order::entry& e = log[i];
        for (; next < edges.size() && edges[next].wanted.at == i; ++next) edges[next].when = happened.now(e.g);
        if (e.g >= last.size()) last.resize(e.g + 1, operation::run);
        if (e.other >= last.size()) last.resize(e.other + 1, operation::run);
        if (e.kind == lock_order::event::operation) {
            last[e.g] = e.what;
            if (!is_about_lock(e.what) && e.object != nullptr) happened.operate(e.g, e.object);
        } else if (e.kind == lock_order::event::wake && !waits_for_lock(last[e.other])) {
            happened.make_runnable(e.g, e.other);
        }
    }
}

}  // namespace

void lock_order::clear() noexcept {
    log_.clear();
    frames_.clear();
    depth_.clear();
    nested_ = false;
}

void lock_order::operate(uint32_t g, operation what, const void* object, const frames* where) {
    if (is_about_lock(what)) {
        if (where != nullptr) frames_.push_back({log_.size(), *where});
        if (g >= depth_.size()) depth_.resize(g + 1);
        uint32_t& depth = depth_[g];
        if (unlocks(what)) {
            depth -= depth != 0 ? 1 : 0;
        } else {
            nested_ = nested_ || depth != 0;
            ++depth;
        }
    }
    log({g, 0, event::operation, what, object});
}

void lock_order::make_runnable(uint32_t g, uint32_t other) {
    if (g != other) log({g, other, event::wake, operation::run, nullptr});
}

void lock_order::end(const void* object) { log({0, 0, event::end, operation::run, object}); }

void lock_order::log(const entry& e) {
    if (log_.size() != most_logged) log_.push_back(e);
}

const lock_order::frames* lock_order::frames_at(std::size_t at) const noexcept {
    const auto found = std::lower_bound(frames_.begin(), frames_.end(), at,
                                        [](const logged_frames& f, std::size_t wanted) { return f.at < wanted; });
    return found == frames_.end() || found->at != at ? nullptr : &found->where;
}

lock_order::inversion lock_order::find() const {
    if (!nested_) return {};
    wait_edges edges = edge_reader(log_).read();
    if (cycle_search(edges, false).find().empty()) return {};
    note_order(log_, edges);
    inversion found;
    for (const std::size_t i : cycle_search(edges, true).find()) {
        const wait_edge& e = edges[i];
        edge made{e.g, log_[e.held.at].object, log_[e.wanted.at].object, e.held.at, e.wanted.at};
        if (const frames* where = frames_at(made.held_at)) made.held_frames = *where;
        if (const frames* where = frames_at(made.wanted_at)) made.wanted_frames = *where;
        found.push_back(std::move(made));
    }
    return found;
}

}  // namespace weft::sim
