// strategies.cc: see strategies.h.
#include "sim/strategies.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "sim/dpor.h"
#include "sim/fuzz_counters.h"

namespace weft::sim {

namespace {

using weft::detail::prng;

// Each schedule has a generator of its own, so that it does not depend on the ones before.
prng generator(uint64_t seed, uint64_t run) noexcept { return prng(seed * 1'000'003 + run); }

class in_order final : public chooser {
public:
    bool begin() override { return true; }

    uint32_t pick(std::span<const candidate> /*options*/, bool /*can_continue*/) override { return 0; }

    uint32_t draw(uint32_t /*n*/) override { return 0; }
};

class random_walk final : public chooser {
public:
    explicit random_walk(uint64_t seed) noexcept : seed_(seed) {}

    bool begin() override {
        random_ = generator(seed_, run_++);
        return true;
    }

    uint32_t pick(std::span<const candidate> options, bool /*can_continue*/) override {
        return random_.below(static_cast<uint32_t>(options.size()));
    }

    uint32_t draw(uint32_t n) override { return random_.below(n); }

private:
    uint64_t seed_;
    uint64_t run_ = 0;
    prng random_{0};
};

// A random priority for each green thread, by its number.
class priorities {
public:
    void clear() noexcept { of_.clear(); }

    [[nodiscard]] uint64_t of(uint32_t g, prng& random) {
        if (g >= of_.size()) of_.resize(g + 1, 0);
        if (of_[g] == 0) renew(g, random);
        return of_[g];
    }

    void renew(uint32_t g, prng& random) noexcept { of_[g] = lowest_random + random.next(); }

    // Below all that are drawn.
    void lower(uint32_t g, uint64_t to) noexcept { of_[g] = to; }

    static constexpr uint64_t lowest_random = 1000;

private:
    std::vector<uint64_t> of_;  // 0: not drawn yet
};

uint32_t best_of(std::span<const candidate> options, priorities& all, prng& random) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < options.size(); ++i)
        if (all.of(options[i].g, random) > all.of(options[best].g, random)) best = i;
    return best;
}

class pct final : public chooser {
public:
    pct(uint64_t seed, unsigned depth) noexcept : seed_(seed), depth_(depth) {}

    bool begin() override {
        random_ = generator(seed_, run_++);
        priorities_.clear();
        decisions_ = 0;
        changes_.clear();
        const auto within = static_cast<uint32_t>(std::min<uint64_t>(longest_, UINT32_MAX));
        for (unsigned i = 1; i < depth_ && i < priorities::lowest_random; ++i)
            changes_.push_back(random_.below(within));
        return true;
    }

    uint32_t pick(std::span<const candidate> options, bool /*can_continue*/) override {
        uint32_t best = best_of(options, priorities_, random_);
        const auto change = std::find(changes_.begin(), changes_.end(), decisions_++);
        if (change != changes_.end()) {
            priorities_.lower(options[best].g, 1 + static_cast<uint64_t>(change - changes_.begin()));
            best = best_of(options, priorities_, random_);
        }
        return best;
    }

    uint32_t draw(uint32_t n) override { return random_.below(n); }

    void ended(uint64_t /*steps*/) override { longest_ = std::max(longest_, decisions_); }

private:
    uint64_t seed_;
    unsigned depth_;
    uint64_t run_ = 0;
    uint64_t decisions_ = 0;
    uint64_t longest_ = 20;  // decisions of a schedule
    prng random_{0};
    priorities priorities_;
    std::vector<uint64_t> changes_;
};

// The default order, with a few delays.
class delay_bounded final : public chooser {
public:
    delay_bounded(uint64_t seed, unsigned delays) noexcept : seed_(seed), most_(delays) {}

    bool begin() override {
        random_ = generator(seed_, run_);
        decisions_ = 0;
        delays_.clear();
        const unsigned count = run_++ == 0 ? 0 : 1 + random_.below(std::max(most_, 1U));
        const auto within = static_cast<uint32_t>(std::min<uint64_t>(longest_, UINT32_MAX));
        for (unsigned i = 0; i < count; ++i) delays_.push_back(random_.below(within));
        return true;
    }

    uint32_t pick(std::span<const candidate> options, bool /*can_continue*/) override {
        const auto delays = static_cast<uint32_t>(std::ranges::count(delays_, decisions_++));
        return std::min(delays, static_cast<uint32_t>(options.size() - 1));
    }

    uint32_t draw(uint32_t n) override { return random_.below(n); }

    void ended(uint64_t /*steps*/) override { longest_ = std::max(longest_, decisions_); }

private:
    uint64_t seed_;
    unsigned most_;
    uint64_t run_ = 0;
    uint64_t decisions_ = 0;
    uint64_t longest_ = 20;  // decisions of a schedule
    prng random_{0};
    std::vector<uint64_t> delays_;  // at which decisions
};

// Choices from a fuzzer: pairs of how many defaults come first, and of an option.
class from_input final : public chooser {
public:
    explicit from_input(std::span<const unsigned char> input) noexcept : left_(input) { next_pair(); }

    bool begin() override { return true; }

    uint32_t pick(std::span<const candidate> options, bool /*can_continue*/) override {
        return draw(static_cast<uint32_t>(options.size()));
    }

    uint32_t draw(uint32_t n) override {
        if (left_.size() < 2 || defaults_-- != 0) return 0;
        const uint32_t option = 1 + left_[1] % (n - 1);
        left_ = left_.subspan(2);
        next_pair();
        return option;
    }

    void began(const candidate& g) override {
        cover_switch(before_, g);
        before_ = g;
    }

private:
    void next_pair() noexcept {
        if (!left_.empty()) defaults_ = left_[0];
    }

    std::span<const unsigned char> left_;
    uint32_t defaults_ = 0;
    candidate before_{0, weft::detail::operation::start, nullptr};
};

class partial_order final : public chooser {
public:
    explicit partial_order(uint64_t seed) noexcept : seed_(seed) {}

    bool begin() override {
        random_ = generator(seed_, run_++);
        priorities_.clear();
        return true;
    }

    uint32_t pick(std::span<const candidate> options, bool /*can_continue*/) override {
        const uint32_t best = best_of(options, priorities_, random_);
        const candidate& chosen = options[best];
        for (const candidate& c : options)
            if (c.g == chosen.g || (c.object != nullptr && c.object == chosen.object)) priorities_.renew(c.g, random_);
        return best;
    }

    uint32_t draw(uint32_t n) override { return random_.below(n); }

private:
    uint64_t seed_;
    uint64_t run_ = 0;
    prng random_{0};
    priorities priorities_;
};

// Each order is about equally likely: a green thread with many steps left is chosen more often than
// one with few. How many are left is known from the schedules before.
class uniform_walk final : public chooser {
public:
    explicit uniform_walk(uint64_t seed) noexcept : seed_(seed) {}

    bool begin() override {
        random_ = generator(seed_, run_++);
        taken_.assign(expected_.size(), 0);
        return true;
    }

    uint32_t pick(std::span<const candidate> options, bool /*can_continue*/) override {
        uint64_t all = 0;
        for (const candidate& c : options) all += left(c.g);
        uint64_t drawn = random_.below(static_cast<uint32_t>(std::min<uint64_t>(all, UINT32_MAX)));
        uint32_t option = 0;
        while (drawn >= left(options[option].g)) drawn -= left(options[option++].g);
        const uint32_t g = options[option].g;
        if (g >= taken_.size()) taken_.resize(g + 1, 0);
        ++taken_[g];
        return option;
    }

    uint32_t draw(uint32_t n) override { return random_.below(n); }

    void ended(uint64_t /*steps*/) override {
        expected_.resize(std::max(expected_.size(), taken_.size()), 0);
        for (std::size_t g = 0; g < taken_.size(); ++g) expected_[g] = std::max(expected_[g], taken_[g]);
    }

private:
    [[nodiscard]] uint64_t left(uint32_t g) const noexcept {
        const uint32_t expected = g < expected_.size() ? expected_[g] : 0;
        const uint32_t taken = g < taken_.size() ? taken_[g] : 0;
        return expected > taken ? expected - taken : 1;
    }

    uint64_t seed_;
    uint64_t run_ = 0;
    prng random_{0};
    std::vector<uint32_t> taken_;     // decisions for each green thread, by number
    std::vector<uint32_t> expected_;  // the most of any schedule
};

// First a given schedule, then others that resemble it: with an entry less, more or changed, or as
// far as some choice.
class neighbours final : public chooser {
public:
    neighbours(uint64_t seed, schedule middle) : seed_(seed), middle_(std::move(middle)) {}

    bool begin() override {
        random_ = generator(seed_, run_);
        now_ = middle_;
        free_from_ = UINT64_MAX;
        choices_ = 0;
        next_ = 0;
        if (run_++ == 0) return true;
        if (random_.below(3) == 0) {
            free_from_ = below(longest_);
        } else {
            for (uint32_t edits = 1 + random_.below(2); edits != 0; --edits) edit();
        }
        return true;
    }

    uint32_t pick(std::span<const candidate> options, bool /*can_continue*/) override {
        return draw(static_cast<uint32_t>(options.size()));
    }

    uint32_t draw(uint32_t n) override {
        const uint64_t at = choices_++;
        if (at >= free_from_) return random_.below(n);
        if (next_ == now_.size() || now_[next_].at != at) return 0;
        const uint32_t option = now_[next_++].option;
        return option < n ? option : 0;
    }

    void ended(uint64_t /*steps*/) override { longest_ = std::max(longest_, choices_); }

private:
    static constexpr uint32_t options_most = 3;

    [[nodiscard]] uint64_t below(uint64_t n) noexcept {
        return random_.below(static_cast<uint32_t>(std::min<uint64_t>(n, UINT32_MAX)));
    }

    void edit() {
        if (now_.empty() || random_.below(2) == 0) {
            const deviation added{below(longest_), 1 + random_.below(options_most)};
            const auto place = std::ranges::lower_bound(now_, added.at, {}, [](const deviation& d) { return d.at; });
            if (place == now_.end() || place->at != added.at) now_.insert(place, added);
            return;
        }
        const auto place = now_.begin() + static_cast<std::ptrdiff_t>(below(now_.size()));
        if (random_.below(2) == 0) {
            now_.erase(place);
        } else {
            place->option = 1 + random_.below(options_most);
        }
    }

    uint64_t seed_;
    const schedule middle_;
    uint64_t run_ = 0;
    prng random_{0};
    schedule now_;
    uint64_t free_from_ = 0;  // choices from here on are random
    uint64_t choices_ = 0;    // so far, in this schedule
    std::size_t next_ = 0;    // of now_
    uint64_t longest_ = 1;    // choices of a schedule
};

// Depth first. Each schedule takes the next option of the last decision that has one.
class exhaustive final : public chooser {
public:
    explicit exhaustive(unsigned preemptions) noexcept : preemptions_(preemptions) {}

    bool begin() override {
        at_ = 0;
        if (!std::exchange(began_, true)) return true;
        while (!path_.empty() && !advance(path_.back())) {
            used_ -= cost(path_.back());
            path_.pop_back();
        }
        return !path_.empty();
    }

    uint32_t pick(std::span<const candidate> options, bool can_continue) override {
        return decide(static_cast<uint32_t>(options.size()), can_continue);
    }

    uint32_t draw(uint32_t n) override { return decide(n, false); }

private:
    struct node {
        uint32_t n;
        uint32_t taken;
        bool preempts;  // unless option 0 is taken
    };

    static unsigned cost(const node& d) noexcept { return d.preempts && d.taken != 0 ? 1 : 0; }

    bool advance(node& d) noexcept {
        if (d.taken + 1 >= d.n) return false;
        if (d.preempts && d.taken == 0) {
            if (used_ == preemptions_) return false;
            ++used_;
        }
        ++d.taken;
        return true;
    }

    uint32_t decide(uint32_t n, bool preempts) {
        if (at_ == path_.size()) path_.push_back({n, 0, preempts});
        const node& d = path_[at_++];
        return d.taken < n ? d.taken : 0;
    }

    unsigned preemptions_;
    unsigned used_ = 0;
    bool began_ = false;
    std::size_t at_ = 0;
    std::vector<node> path_;
};

// The first schedule is the default one. The others take turns.
class portfolio final : public chooser {
public:
    explicit portfolio(uint64_t seed, unsigned depth) {
        all_.push_back(std::make_unique<random_walk>(seed));
        all_.push_back(std::make_unique<pct>(seed, depth));
        all_.push_back(std::make_unique<partial_order>(seed));
        all_.push_back(std::make_unique<pct>(seed + 1, 2));
    }

    bool begin() override {
        now_ = run_ == 0 ? &first_ : all_[run_ % all_.size()].get();
        ++run_;
        return now_->begin();
    }

    uint32_t pick(std::span<const candidate> options, bool can_continue) override {
        return now_->pick(options, can_continue);
    }

    uint32_t draw(uint32_t n) override { return now_->draw(n); }

    void ended(uint64_t steps) override { now_->ended(steps); }

private:
    in_order first_;
    std::vector<std::unique_ptr<chooser>> all_;
    chooser* now_ = nullptr;
    uint64_t run_ = 0;
};

}  // namespace

std::unique_ptr<chooser> make_chooser(const options& with, uint64_t seed) {
    switch (with.pick) {
        case strategy::random_walk:
            return std::make_unique<random_walk>(seed);
        case strategy::pct:
            return std::make_unique<pct>(seed, with.depth);
        case strategy::delay_bounded:
            return std::make_unique<delay_bounded>(seed, with.depth);
        case strategy::partial_order:
            return std::make_unique<partial_order>(seed);
        case strategy::uniform_walk:
            return std::make_unique<uniform_walk>(seed);
        case strategy::exhaustive:
            return std::make_unique<exhaustive>(with.preemptions);
        case strategy::dpor:
            return make_dpor();
        case strategy::portfolio:
            break;
    }
    return std::make_unique<portfolio>(seed, with.depth);
}

std::unique_ptr<chooser> make_from_input(std::span<const unsigned char> input) {
    return std::make_unique<from_input>(input);
}

std::unique_ptr<chooser> make_neighbours(const schedule& of, uint64_t seed) {
    return std::make_unique<neighbours>(seed, of);
}

}  // namespace weft::sim
