// strategies.cc: see strategies.h.
#include "sim/strategies.h"

#include <algorithm>
#include <cstddef>
#include <utility>

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
        case strategy::partial_order:
            return std::make_unique<partial_order>(seed);
        case strategy::exhaustive:
            return std::make_unique<exhaustive>(with.preemptions);
        case strategy::portfolio:
            break;
    }
    return std::make_unique<portfolio>(seed, with.depth);
}

}  // namespace weft::sim
