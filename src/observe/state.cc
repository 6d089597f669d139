// state.cc: see state.h.
#include "observe/state.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <unordered_map>

#include <weft/detail/wait.h>

#include "debug/g_snapshot.h"
#include "debug/stats.h"
#include "os/os.h"
#include "per_g/labels.h"
#include "sched/freeze.h"
#include "sched/scheduler.h"

namespace weft::observe::detail {

namespace {

using weft::detail::acquire;
using weft::detail::G;
using weft::detail::g_state;
using weft::detail::label_block;
using weft::detail::M;
using weft::detail::relaxed_hint;
using weft::detail::wait_reason;

// States of Gs as one number: a wait reason, or above all of these a g_state.
constexpr std::size_t kinds = 64;
constexpr std::size_t first_state = kinds - 8;

std::size_t kind_of(g_state state, wait_reason reason) noexcept {
    const auto kind =
        state == g_state::waiting ? static_cast<std::size_t>(reason) : first_state + static_cast<std::size_t>(state);
    return std::min(kind, kinds - 1);
}

const char* text_of(std::size_t kind) noexcept {
    return kind < first_state ? weft::detail::text(static_cast<wait_reason>(kind))
                              : weft::detail::text(static_cast<g_state>(kind - first_state));
}

// Several green threads may wait for the same object, and only another one ends that.
bool is_for_object(wait_reason reason) noexcept {
    switch (reason) {
        case wait_reason::none:
        case wait_reason::chan_receive_nil:
        case wait_reason::chan_send_nil:
        case wait_reason::sleep:
        case wait_reason::start:
        case wait_reason::select_no_cases:
        case wait_reason::timer:
        case wait_reason::fd_readable:
        case wait_reason::fd_writable:
        case wait_reason::select_fd:
        case wait_reason::file_operation:
        case wait_reason::process_end:
            return false;
        default:
            return true;
    }
}

using counts = uint32_t[kinds];

std::vector<count_of> named(const counts& of) {
    std::vector<count_of> all;
    for (std::size_t kind = 0; kind < kinds; ++kind) {
        if (of[kind] != 0) all.push_back({text_of(kind), of[kind]});
    }
    std::sort(all.begin(), all.end(), [](const count_of& a, const count_of& b) {
        return a.count != b.count ? a.count > b.count : std::string_view(a.what) < b.what;
    });
    return all;
}

// What the pass reads of a G, which may change meanwhile.
struct seen_g {
    weft::detail::identity who;
    g_state state;
    wait_reason reason;
    int64_t since_ns;
    const label_block* labels;  // only compared
    bool has_stack;
};

// False: it has ended.
WEFT_NO_SANITIZE bool look_at(const G& g, seen_g& into) noexcept {
    into.state = g.state.load(acquire);  // pairs with set_state
    if (into.state == g_state::dead || into.state == g_state::idle) return false;
    into.reason = g.reason;
    into.since_ns = g.since_ns;
    into.labels = (g.traits & weft::detail::trait::labelled) != 0 ? g.labels : nullptr;
    into.has_stack = g.stack != nullptr;
    return into.who.read(g);
}

struct site_group {
    source_location where;
    char name[G::name_size];
    bool same_name = true;
    uint64_t count = 0;
    int64_t oldest_since_ns = 0;  // 0: unknown
    counts states = {};
};

struct label_group {
    uint64_t count = 0;
    G* one = nullptr;   // has had them
    uint64_t site = 0;  // where it was started
};

// Two places may have the same text, and vice versa: the constant of an inline function may exist
// once in each file. Such groups are shown apart.
uint64_t key_of(const source_location& where) noexcept {
    uint64_t word = 0;
    std::memcpy(&word, &where, sizeof(word));
    return word;
}

class pass {
public:
    pass(weft::detail::scheduler& s, runtime_state& into) : s_(s), into_(into) {
        stacks_every_ = std::max<uint64_t>(1, into.stats.live / runtime_state::stacks_measured);
        waits_every_ = 1 + into.stats.live / runtime_state::waits_read;
    }

    void run() {
        s_.gs.for_each([&](G& g) {
            if (g.state.load(relaxed_hint) == g_state::dead) return;
            if (look_at(g, seen_)) add(g);
        });
        into_.states = named(states_);
        show_sites();
        show_labels();
        show_objects();
        measure_stacks();
    }

private:
    void add(G& g) {
        const std::size_t kind = kind_of(seen_.state, seen_.reason);
        ++states_[kind];
        add_to_site(kind);
        if (seen_.labels != nullptr) {
            label_group& group = labels_[seen_.labels];
            ++group.count;
            group.one = &g;
            group.site = key_of(seen_.who.where);
        }
        if (seen_.state == g_state::waiting && is_for_object(seen_.reason) && waits_++ % waits_every_ == 0) {
            waiters_.push_back(&g);
        }
        if (!seen_.has_stack) return;
        const bool is_next = into_.stacks.bound++ % stacks_every_ == 0;
        if (is_next && sample_.size() < runtime_state::stacks_measured) sample_.push_back(&g);
    }

    void add_to_site(std::size_t kind) {
        const uint64_t key = key_of(seen_.who.where);
        if (last_ == nullptr || key != last_key_) {
            last_key_ = key;
            last_ = &sites_[key];
        }
        site_group& group = *last_;
        if (group.count++ == 0) {
            group.where = seen_.who.where;
            std::memcpy(group.name, seen_.who.name, sizeof(group.name));
        } else if (group.same_name) {
            group.same_name = std::strcmp(group.name, seen_.who.name) == 0;
        }
        const int64_t since_ns = seen_.since_ns;
        if (since_ns != 0 && (group.oldest_since_ns == 0 || since_ns < group.oldest_since_ns)) {
            group.oldest_since_ns = since_ns;
        }
        ++group.states[kind];
    }

    void show_sites() {
        std::vector<const site_group*> all;
        all.reserve(sites_.size());
        for (const auto& [key, group] : sites_) all.push_back(&group);
        std::sort(all.begin(), all.end(), [](const site_group* a, const site_group* b) {
            if (a->count != b->count) return a->count > b->count;
            return key_of(a->where) < key_of(b->where);
        });
        into_.sites_left_out = all.size() - std::min(all.size(), runtime_state::sites_shown);
        all.resize(all.size() - into_.sites_left_out);
        for (const site_group* g : all) {
            const int64_t oldest_ns =
                g->oldest_since_ns == 0 ? -1 : std::max<int64_t>(0, into_.now_ns - g->oldest_since_ns);
            into_.sites.push_back({g->where, g->same_name ? g->name : "", g->count, oldest_ns, named(g->states)});
        }
    }

    // Gs that inherit their labels share one block. Equal blocks are joined by their texts. Reading
    // one takes about a microsecond of each CPU, so of too many blocks a sample is read.
    void show_labels() {
        std::vector<block_and_group> blocks(labels_.begin(), labels_.end());
        sample(blocks);
        std::unordered_map<std::string, uint64_t> texts;
        for (std::size_t i = 0; i < blocks.size(); i += batch) {
            add_texts(std::span(blocks).subspan(i, std::min(batch, blocks.size() - i)), texts);
        }
        for (const auto& [text, count] : texts) into_.labels.push_back({text, count});
        std::sort(into_.labels.begin(), into_.labels.end(), [](const label_state& a, const label_state& b) {
            return a.count != b.count ? a.count > b.count : a.text < b.text;
        });
        const std::size_t shown = std::min(into_.labels.size(), runtime_state::labels_shown);
        into_.labels_left_out = into_.labels.size() - shown;
        into_.labels.resize(shown);
    }

    using block_and_group = std::pair<const label_block*, label_group>;

    // Leaves labels_read blocks. A place that starts few Gs has all of its blocks in the sample. Of
    // the others, each has the same number.
    void sample(std::vector<block_and_group>& blocks) {
        if (blocks.size() <= runtime_state::labels_read) return;
        into_.labels_are_estimates = true;
        std::unordered_map<uint64_t, std::vector<block_and_group>> by_site;
        for (const block_and_group& b : blocks) by_site[b.second.site].push_back(b);
        std::vector<std::vector<block_and_group>*> sites;
        sites.reserve(by_site.size());
        for (auto& [site, its] : by_site) sites.push_back(&its);
        std::sort(sites.begin(), sites.end(), [](const auto* x, const auto* y) { return x->size() < y->size(); });
        blocks.clear();
        for (std::size_t i = 0; i < sites.size(); ++i) {
            const std::size_t quota = (runtime_state::labels_read - blocks.size()) / (sites.size() - i);
            add_part(*sites[i], std::min(quota, sites[i]->size()), blocks);
        }
    }

    // Adds n of all, which count for all.
    static void add_part(const std::vector<block_and_group>& all, std::size_t n, std::vector<block_and_group>& to) {
        const auto sum_of = [](auto from, auto end) {
            uint64_t sum = 0;
            for (; from != end; ++from) sum += from->second.count;
            return sum;
        };
        const std::size_t first = to.size();
        for (std::size_t i = 0; i < n; ++i) to.push_back(all[i * all.size() / n]);
        const auto part = to.begin() + static_cast<std::ptrdiff_t>(first);
        const uint64_t wanted = sum_of(all.begin(), all.end());
        const uint64_t got = sum_of(part, to.end());
        uint64_t seen = 0;
        uint64_t given = 0;
        for (auto b = part; b != to.end(); ++b) {
            seen += b->second.count;
            b->second.count = seen * wanted / got - given;
            given += b->second.count;
        }
    }

    // Labels of a G that has others by now, or has ended, are left out.
    void add_texts(std::span<const block_and_group> of, std::unordered_map<std::string, uint64_t>& texts) {
        char found[batch][weft::detail::g_snapshot::labels_max] = {};
        G* gs[batch];
        for (std::size_t i = 0; i < of.size(); ++i) gs[i] = of[i].second.one;
        {
            const weft::detail::frozen still(gs, static_cast<uint32_t>(of.size()));
            for (std::size_t i = 0; i < of.size(); ++i) {
                if (!has_block(*gs[i], of[i].first)) continue;
                if (!weft::detail::describe_labels(*gs[i], found[i], sizeof(found[i]))) found[i][0] = '\0';
            }
        }
        for (std::size_t i = 0; i < of.size(); ++i) {
            if (found[i][0] != '\0') texts[found[i]] += of[i].second.count;
        }
    }

    WEFT_NO_SANITIZE static bool has_block(const G& g, const label_block* block) noexcept {
        return (g.traits & weft::detail::trait::labelled) != 0 && g.labels == block;
    }

    void show_objects() {
        std::unordered_map<const void*, object_group> objects;
        for (std::size_t i = 0; i < waiters_.size(); i += batch) {
            add_objects(std::span(waiters_).subspan(i, std::min(batch, waiters_.size() - i)), objects);
        }
        into_.objects_are_estimates = waits_every_ != 1;
        for (const auto& [address, group] : objects) {
            const auto most =
                static_cast<std::size_t>(std::max_element(group.reasons, group.reasons + kinds) - group.reasons);
            const int64_t oldest_ns =
                group.oldest_since_ns == 0 ? -1 : std::max<int64_t>(0, into_.now_ns - group.oldest_since_ns);
            into_.objects.push_back({address, text_of(most), group.waiters * waits_every_, oldest_ns, group.where});
        }
        std::sort(into_.objects.begin(), into_.objects.end(), [](const object_state& a, const object_state& b) {
            return a.count != b.count ? a.count > b.count : a.at < b.at;
        });
        into_.objects.resize(std::min(into_.objects.size(), runtime_state::objects_shown));
    }

    struct object_group {
        uint64_t waiters = 0;
        int64_t oldest_since_ns = 0;  // 0: unknown
        source_location where;
        counts reasons = {};
    };

    // For what a frozen G waits. A select counts for each of its cases.
    struct wait_seen {
        static constexpr std::size_t cases_most = 8;

        wait_reason reason = wait_reason::none;
        int64_t since_ns = 0;
        source_location where;
        std::size_t count = 0;
        const void* objects[cases_most];

        WEFT_NO_SANITIZE void take(const G& g) noexcept {
            if (g.state.load(acquire) != g_state::waiting) return;  // pairs with set_state
            reason = g.reason;
            since_ns = g.since_ns;
            where = g.where;
            if (!is_for_object(reason)) return;
            const weft::detail::waiter* w = g.waiting;
            while (w != nullptr && count < cases_most) {
                const weft::detail::guarded_word* lock = w->lock;
                void* slot = w->slot;
                const void* at = weft::detail::waits_for_lock(reason) ? slot : static_cast<const void*>(lock);
                if (at != nullptr) objects[count++] = at;
                const weft::detail::claim_word* claim = w->claim;
                w = claim == nullptr ? nullptr : w->also;
            }
        }
    };

    static void add_objects(std::span<G* const> gs, std::unordered_map<const void*, object_group>& objects) {
        wait_seen seen[batch];
        {
            const weft::detail::frozen still(gs.data(), static_cast<uint32_t>(gs.size()));
            for (std::size_t i = 0; i < gs.size(); ++i) seen[i].take(*gs[i]);
        }
        for (std::size_t i = 0; i < gs.size(); ++i) {
            for (std::size_t k = 0; k < seen[i].count; ++k) add_wait(seen[i], objects[seen[i].objects[k]]);
        }
    }

    static void add_wait(const wait_seen& seen, object_group& to) {
        if (to.waiters++ == 0) to.where = seen.where;
        ++to.reasons[kind_of(g_state::waiting, seen.reason)];
        const int64_t since_ns = seen.since_ns;
        if (since_ns != 0 && (to.oldest_since_ns == 0 || since_ns < to.oldest_since_ns)) to.oldest_since_ns = since_ns;
    }

    void measure_stacks() {
        std::size_t sum = 0;
        for (std::size_t i = 0; i < sample_.size(); i += batch) {
            const std::size_t count = std::min(batch, sample_.size() - i);
            const weft::detail::frozen still(&sample_[i], static_cast<uint32_t>(count));
            for (std::size_t k = i; k < i + count; ++k) sum += measure(*sample_[k]);
        }
        if (into_.stacks.measured != 0) into_.stacks.touched_average = sum / into_.stacks.measured;
        into_.stacks.default_size = s_.stacks.usable_size(0);
    }

    // Requires: g is frozen. A G that runs is not measured.
    WEFT_NO_SANITIZE std::size_t measure(const G& g) noexcept {
        const g_state state = g.state.load(acquire);  // pairs with set_state
        if (state != g_state::waiting && state != g_state::runnable) return 0;
        const struct weft::detail::stack* on = g.stack;
        if (on == nullptr) return 0;
        while (on->continued() != nullptr) on = on->continued();
        if (on->end != nullptr) return 0;  // a thread's own
        ++into_.stacks.measured;
        return weft::detail::touched_bytes(*on);
    }

    static constexpr std::size_t batch = 32;  // frozen at once, for some microseconds

    weft::detail::scheduler& s_;
    runtime_state& into_;
    seen_g seen_{};
    counts states_ = {};
    std::unordered_map<uint64_t, site_group> sites_;
    uint64_t last_key_ = 0;
    site_group* last_ = nullptr;  // of last_key_
    std::unordered_map<const label_block*, label_group> labels_;
    std::vector<G*> sample_;
    uint64_t stacks_every_ = 1;
    std::vector<G*> waiters_;  // a sample
    uint64_t waits_ = 0;
    uint64_t waits_every_ = 1;
};

// A G on an M, read while the list of Ms does not change.
struct on_m {
    const G* g;
    int tid;
    uint32_t p;
    bool has_p;
    bool in_call;
};

void read_ms(weft::detail::scheduler& s, std::vector<on_m>& all) {
    all.reserve(s.thread_count.load(relaxed_hint) + 64);  // nothing throws while the lock is held
    s.threads_lock.lock();
    for (const M* m = s.all_ms; m != nullptr && all.size() < all.capacity(); m = m->all_next) {
        const weft::detail::m_snapshot now(*m);
        const G* g = now.lent_by != nullptr ? now.lent_by : now.g;
        if (g == nullptr) continue;
        all.push_back({g, m->tid(), now.p == nullptr ? 0 : now.p->index, now.has_p, now.lent_by != nullptr});
    }
    s.threads_lock.unlock();
}

void read_running(weft::detail::scheduler& s, runtime_state& into) {
    std::vector<on_m> all;
    read_ms(s, all);
    for (const on_m& on : all) {
        seen_g seen;
        if (!look_at(*on.g, seen)) continue;
        if (seen.state != g_state::running && seen.state != g_state::in_call) continue;
        const int64_t since_ns = seen.since_ns == 0 ? -1 : std::max<int64_t>(0, into.now_ns - seen.since_ns);
        running_g g{seen.who.id, seen.who.name, seen.who.where, on.tid, on.in_call, on.has_p, since_ns};
        if (on.has_p && on.p < into.procs.size()) {
            into.procs[on.p].g = std::move(g);
            into.procs[on.p].runs = true;
        } else if (!on.has_p && into.without_p.size() < runtime_state::without_p_shown) {
            into.without_p.push_back(std::move(g));
        }
    }
}

void read_procs(const weft::detail::scheduler& s, runtime_state& into) {
    std::vector<proc_snapshot> all(s.ps.in_use());
    const std::size_t count = weft::detail::procs_of(s, all.data(), all.size());
    all.resize(std::min(all.size(), count));
    for (const proc_snapshot& p : all) into.procs.push_back({p, false, {}});
}

}  // namespace

runtime_state read_state(weft::detail::scheduler& s) {
    runtime_state all;
    all.now_ns = weft::detail::os::monotonic_ns();
    all.name = s.name;
    all.stats = weft::detail::stats_of(s);
    all.latencies = weft::detail::latencies_of(s);
    read_procs(s, all);
    read_running(s, all);
    pass(s, all).run();
    all.took_ns = weft::detail::os::monotonic_ns() - all.now_ns;
    return all;
}

}  // namespace weft::observe::detail
