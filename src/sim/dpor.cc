// dpor.cc: see dpor.h.
#include "sim/dpor.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace weft::sim {

namespace {

using weft::detail::operation;

constexpr std::size_t no_node = SIZE_MAX;

// How many events each green thread had, by number: those that happened before.
using moment = std::vector<uint32_t>;

void join(moment& into, const moment& from) {
    if (into.size() < from.size()) into.resize(from.size());
    for (std::size_t g = 0; g < from.size(); ++g) into[g] = std::max(into[g], from[g]);
}

struct use {
    const void* object;
    bool changes;

    friend bool operator==(const use&, const use&) = default;
};

// What an event does, as far as others can notice.
class effects {
public:
    void add(operation what, const void* object) {
        if (what == operation::start) return;
        if (object == nullptr || reaches_far(what)) {
            everything_ = true;
        } else {
            uses_.push_back({object, what != operation::chan_read && what != operation::value_read});
        }
    }

    void add(const effects& other) {
        everything_ = everything_ || other.everything_;
        uses_.insert(uses_.end(), other.uses_.begin(), other.uses_.end());
    }

    void add_everything() noexcept { everything_ = true; }

    [[nodiscard]] bool depend_on(const effects& other) const noexcept {
        if (everything_ || other.everything_) return true;
        for (const use& a : uses_)
            for (const use& b : other.uses_)
                if (a.object == b.object && (a.changes || b.changes)) return true;
        return false;
    }

    friend bool operator==(const effects&, const effects&) = default;

private:
    static bool reaches_far(operation what) noexcept {
        switch (what) {
            case operation::select:
            case operation::timer:
            case operation::cancel:
            case operation::socket_send:
            case operation::socket_receive:
            case operation::socket_accept:
            case operation::socket_connect:
            case operation::socket_close:
                return true;
            default:
                return false;
        }
    }

    bool everything_ = false;
    std::vector<use> uses_;
};

bool leaves_nothing_to_do(operation what) noexcept {
    return what == operation::chan_send || what == operation::chan_receive;
}

bool contains(const std::vector<uint32_t>& all, uint32_t g) noexcept { return std::ranges::find(all, g) != all.end(); }

class dpor final : public chooser {
public:
    bool begin() override {
        if (std::exchange(began_, true) && !next_path()) return false;
        at_ = 0;
        events_.clear();
        threads_.clear();
        asleep_.clear();
        chosen_at_ = no_node;
        repeats_ = false;
        return true;
    }

    uint32_t pick(std::span<const candidate> options, bool /*can_continue*/) override {
        complete();
        if (repeats_) return 0;
        if (at_ == path_.size() && !add_node(options)) return 0;
        const node& n = path_[at_];
        const auto chosen = std::ranges::find(options, n.taken, &candidate::g);
        if (chosen == options.end()) return 0;  // the test cannot be repeated
        fall_asleep(n, options);
        chosen_at_ = at_++;
        if (n.taken == the_clock) begin_event(*chosen);
        return static_cast<uint32_t>(chosen - options.begin());
    }

    uint32_t draw(uint32_t n) override {
        do_everything();
        if (repeats_) return 0;
        if (at_ == path_.size()) {
            node added;
            added.values = n;
            path_.push_back(std::move(added));
        }
        const uint32_t taken = path_[at_++].taken;
        return taken < n ? taken : 0;
    }

    void began(const candidate& c) override {
        complete();
        begin_event(c);
    }

    void did(operation what, const void* object) override {
        if (object == nullptr) do_everything();
        if (!events_.empty()) events_.back().does.add(what, object);
    }

    void made_runnable(uint32_t by, uint32_t g) override {
        if (events_.empty()) return;
        if (by == the_clock && (events_.back().g != the_clock || events_.back().is_complete)) begin_clock();
        events_.back().woken.push_back(g);
    }

    void ended(uint64_t /*steps*/) override { complete(); }

private:
    // The clock, among the options.
    static constexpr uint32_t the_clock = 0;

    // A decision.
    struct node {
        struct tried {
            uint32_t g;
            bool did_more;
        };

        uint32_t values = 0;  // of a draw; 0: the decision is about green threads
        uint32_t taken = 0;   // value, or green thread
        bool taken_did_more = false;
        std::vector<uint32_t> options{};
        std::vector<uint32_t> wanted{};  // those that must be tried
        std::vector<tried> asleep{};     // those that have been, here or before

        [[nodiscard]] bool sleeps(uint32_t g) const noexcept {
            return std::ranges::find(asleep, g, &tried::g) != asleep.end();
        }
    };

    struct sleeper {
        uint32_t g;
        bool did_more;  // than its operation tells
        effects next;
    };

    struct event {
        uint32_t g;
        operation what;
        effects known;  // before it began
        effects does;
        std::size_t node = no_node;  // that chose it; no_node: nothing else was possible
        std::vector<uint32_t> woken{};
        uint32_t count = 0;  // of g's events, with this one
        moment when{};
        bool is_complete = false;
    };

    struct thread {
        moment now{};
        uint32_t events = 0;
        operation last = operation::start;
        effects last_did{};
    };

    thread& thread_of(uint32_t g) {
        if (g >= threads_.size()) threads_.resize(g + 1);
        return threads_[g];
    }

    // The next schedule takes another way at the last decision that has one.
    bool next_path() {
        for (; !path_.empty(); path_.pop_back()) {
            node& n = path_.back();
            if (n.values != 0) {
                if (++n.taken < n.values) return true;
                continue;
            }
            n.asleep.push_back({n.taken, n.taken_did_more});
            const auto next = std::ranges::find_if(n.wanted, [&n](uint32_t g) { return !n.sleeps(g); });
            if (next == n.wanted.end()) continue;
            n.taken = *next;
            n.taken_did_more = false;
            return true;
        }
        return false;
    }

    // False: all that could be chosen has been tried.
    bool add_node(std::span<const candidate> options) {
        node n;
        for (const candidate& c : options) n.options.push_back(c.g);
        for (const sleeper& s : asleep_)
            if (contains(n.options, s.g)) n.asleep.push_back({s.g, s.did_more});
        const auto awake = std::ranges::find_if(n.options, [&n](uint32_t g) { return !n.sleeps(g); });
        repeats_ = awake == n.options.end();
        if (repeats_) return false;
        n.taken = *awake;
        n.wanted.push_back(n.taken);
        if (contains(n.options, the_clock) && n.taken != the_clock) n.wanted.push_back(the_clock);
        path_.push_back(std::move(n));
        return true;
    }

    void fall_asleep(const node& n, std::span<const candidate> options) {
        asleep_.clear();
        for (const candidate& c : options) {
            const auto t = std::ranges::find(n.asleep, c.g, &node::tried::g);
            if (t != n.asleep.end()) asleep_.push_back({c.g, t->did_more, next_of(c)});
        }
    }

    // As far as it is known.
    effects next_of(const candidate& c) {
        effects next;
        const thread& t = thread_of(c.g);
        if (c.next != operation::run) {
            next.add(c.next, c.object);
        } else if (!leaves_nothing_to_do(t.last)) {
            next.add(t.last_did);
        }
        return next;
    }

    void begin_event(const candidate& c) {
        if (std::ranges::find(asleep_, c.g, &sleeper::g) != asleep_.end()) repeats_ = true;
        const effects known = next_of(c);
        events_.push_back({c.g, c.next, known, known, std::exchange(chosen_at_, no_node)});
    }

    void begin_clock() {
        complete();
        begin_event({the_clock, operation::timer, nullptr});
    }

    void do_everything() {
        if (events_.empty() || events_.back().is_complete) begin_clock();
        events_.back().does.add_everything();
    }

    // The last event is over, so it is known what it did.
    void complete() {
        if (repeats_ || events_.empty() || events_.back().is_complete) return;
        event& e = events_.back();
        e.is_complete = true;
        thread& t = thread_of(e.g);
        e.when = t.now;
        find_races(events_.size() - 1);
        e.count = ++t.events;
        if (e.when.size() <= e.g) e.when.resize(e.g + 1);
        e.when[e.g] = e.count;
        t.now = e.when;
        t.last = e.what;
        t.last_did = e.does;
        for (const uint32_t g : e.woken) join(thread_of(g).now, e.when);
        if (e.node != no_node) path_[e.node].taken_did_more = e.does != e.known;
        std::erase_if(asleep_, [&e](const sleeper& s) { return s.did_more || s.next.depend_on(e.does); });
    }

    // Later ones first: what comes before a race that was found is ordered by it.
    void find_races(std::size_t at) {
        event& e = events_[at];
        for (std::size_t i = at; i-- > 0;) {
            const event& earlier = events_[i];
            if (earlier.g == e.g || seen(e.when, earlier) || !earlier.does.depend_on(e.does)) continue;
            if (earlier.node != no_node) want(path_[earlier.node], i, at);
            join(e.when, earlier.when);
        }
    }

    static bool seen(const moment& when, const event& e) noexcept { return e.g < when.size() && when[e.g] >= e.count; }

    // So that the event `at` is tried before the event `before`: what comes between them, but not
    // because of the earlier one, is tried first, or the event itself.
    void want(node& n, std::size_t before, std::size_t at) {
        const event& e = events_[at];
        if (e.g == the_clock && !contains(n.options, the_clock)) return;  // it was not due
        std::vector<const event*> between;
        std::vector<uint32_t> first;  // green threads whose next event needs none of the others
        const auto add = [&](const event& next) {
            const auto needs = [&next](const event* b) { return b->g == next.g || seen(next.when, *b); };
            if (std::ranges::none_of(between, needs)) first.push_back(next.g);
            between.push_back(&next);
        };
        for (std::size_t i = before + 1; i < at; ++i)
            if (!seen(events_[i].when, events_[before])) add(events_[i]);
        add(e);
        std::erase_if(first, [&n](uint32_t g) { return !contains(n.options, g); });
        if (first.empty()) first = n.options;
        if (std::ranges::any_of(first, [&n](uint32_t g) { return contains(n.wanted, g) || n.sleeps(g); })) return;
        n.wanted.push_back(first.back());
    }

    bool began_ = false;
    std::vector<node> path_;

    // Of this schedule.
    std::size_t at_ = 0;  // the next node
    std::size_t chosen_at_ = no_node;
    bool repeats_ = false;
    std::vector<event> events_;
    std::vector<thread> threads_;  // by number
    std::vector<sleeper> asleep_;
};

}  // namespace

std::unique_ptr<chooser> make_dpor() { return std::make_unique<dpor>(); }

}  // namespace weft::sim
