// controlled_run.cc: see controlled_run.h.
#include "sim/controlled_run.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <utility>

#include <weft/go.h>

#include "base/assert.h"
#include "sched/schedule.h"
#include "sched/switch.h"

namespace weft::sim {

namespace {

using weft::detail::G;
using weft::detail::M;
using weft::detail::operation;

// What a lone green thread that yields in a loop sees of time.
constexpr int64_t lone_yield_ns = 1'000;

// 2000-01-01, as in Go's synctest, counted from the start of the clock.
constexpr int64_t begin_ns = 946'684'800'000'000'000;

}  // namespace

void controlled_run::begin(chooser* by, const schedule* replayed, bool keeps_steps) {
    chooser_ = by;
    replayed_ = replayed;
    replayed_at_ = 0;
    keeps_steps_ = keeps_steps;
    runnable_.clear();
    pending_.clear();
    picked_ = nullptr;
    choices_ = 0;
    taken_.clear();
    steps_ = 0;
    records_.clear();
    body_returned_ = false;
    result_ = verdict::passed;
    reason_.clear();
    now_ns = begin_ns;
}

void controlled_run::execute(const std::function<void()>& body) {
    M* m = weft::detail::current_m();
    auto& count = m->p->count;
    const uint64_t finished = count.finished.get();
    const uint64_t spawned = count.spawned.get();
    first_id_ = 0;
    driver_ = m->g;
    weft::go([this, &body] {
        body();
        body_returned_ = true;
    });
    weft::detail::requeue(m);
    if (result_ != verdict::passed) return;
    const uint64_t left = (count.spawned.get() - spawned) - (count.finished.get() - finished);
    if (left == 0) return;
    if (!body_returned_) {
        fail(verdict::deadlock, "all " + std::to_string(left) + " green threads wait, and no timer is set");
    } else {
        fail(verdict::leaked, std::to_string(left) + " green threads wait for ever after the function has returned");
    }
}

void controlled_run::fail(verdict why, std::string reason) {
    if (result_ != verdict::passed) return;
    result_ = why;
    reason_ = std::move(reason);
}

uint32_t controlled_run::number_of(const G* g) const noexcept { return static_cast<uint32_t>(g->id - first_id_ + 1); }

controlled_run::pending& controlled_run::pending_of(uint32_t number) {
    if (number >= pending_.size()) pending_.resize(number + 1);
    return pending_[number];
}

bool controlled_run::count_step() noexcept {
    if (++steps_ <= limits_.max_steps) return true;
    fail(verdict::livelock, "it has not ended after " + std::to_string(limits_.max_steps) + " steps");
    return false;
}

void controlled_run::record(uint32_t number, bool deviates) {
    if (!keeps_steps_) return;
    const pending& p = pending_of(number);
    records_.push_back({number, p.what, p.object, deviates});
}

uint32_t controlled_run::replayed_option(uint32_t n) noexcept {
    if (replayed_at_ == replayed_->size() || (*replayed_)[replayed_at_].at != choices_) return 0;
    const uint32_t option = (*replayed_)[replayed_at_++].option;
    return option < n ? option : 0;  // a shortened schedule may have other options here
}

void controlled_run::note_option(uint32_t option) {
    if (option != 0) taken_.push_back({choices_, option});
    ++choices_;
}

uint32_t controlled_run::choose(uint32_t n) noexcept {
    if (weft::detail::current_m()->g == driver_) return 0;
    const uint32_t value = chooser_ != nullptr ? chooser_->draw(n) : replayed_option(n);
    note_option(value);
    return value;
}

// An index into: running, if it can continue, runnable_, and running otherwise, if there is one.
uint32_t controlled_run::pick(G* running, bool can_continue) {
    options_.clear();
    const auto add = [this](const G* g) {
        const uint32_t number = number_of(g);
        const pending& p = pending_of(number);
        options_.push_back({number, p.what, p.object});
    };
    if (running != nullptr && can_continue) add(running);
    for (const G* g : runnable_) add(g);
    if (running != nullptr && !can_continue) add(running);
    uint32_t option = 0;
    if (options_.size() > 1) {
        const auto n = static_cast<uint32_t>(options_.size());
        option = chooser_ != nullptr ? chooser_->pick(options_, can_continue) : replayed_option(n);
        note_option(option);
    }
    record(options_[option].g, option != 0);
    return option;
}

G* controlled_run::take(std::size_t index) noexcept {
    G* g = runnable_[index];
    runnable_.erase(runnable_.begin() + static_cast<std::ptrdiff_t>(index));
    return g;
}

// g begins what it was about to do. If it waits there, it is not known what comes next.
G* controlled_run::begin_step(G* g) noexcept {
    pending_of(number_of(g)) = {operation::run, nullptr};
    return g;
}

void controlled_run::push(G* g) noexcept {
    if (g == driver_) return;
    if (first_id_ == 0) first_id_ = g->id;
    static_cast<void>(pending_of(number_of(g)));
    runnable_.push_back(g);
}

G* controlled_run::next(M* m) noexcept {
    if (result_ != verdict::passed) return driver_;
    weft::detail::fire_simulated(m);
    if (G* g = std::exchange(picked_, nullptr)) return begin_step(g);
    while (runnable_.empty()) {
        if (m->home->has_shared_work()) {
            fail(verdict::uncontrolled,
                 "a thread outside of the simulation has made a green thread runnable; let green threads of the test "
                 "do that");
            return driver_;
        }
        const int64_t due_ns = m->p->timers.next_deadline();
        if (due_ns == weft::detail::never) return driver_;
        now_ns = std::max(now_ns, due_ns);
        weft::detail::fire_simulated(m);
    }
    if (!count_step()) return driver_;
    return begin_step(take(pick(nullptr, false)));
}

bool controlled_run::replaces(G* g, operation what, const void* object) noexcept {
    if (g == driver_) return false;
    if (result_ != verdict::passed) return true;
    pending_of(number_of(g)) = {what, object};
    if (what == operation::yield) {
        if (!count_step()) return true;
        if (runnable_.empty()) {
            now_ns += lone_yield_ns;
            record(number_of(g), false);
            return weft::detail::current_m()->p->timers.next_deadline() <= now_ns;
        }
        const uint32_t option = pick(g, false);
        if (option == runnable_.size()) {
            begin_step(g);
            return false;
        }
        picked_ = take(option);
        return true;
    }
    if (!limits_.before_operations) {
        record(number_of(g), false);
        begin_step(g);
        return false;
    }
    if (!count_step()) return true;
    const uint32_t option = pick(g, true);
    if (option == 0) {
        begin_step(g);
        return false;
    }
    picked_ = take(option - 1);
    return true;
}

void controlled_run::failed(const G* g) noexcept {
    std::string reason = "an exception left green thread " + std::to_string(number_of(g)) + ": ";
    try {
        throw;
    } catch (const std::exception& e) {
        reason += e.what();
    } catch (...) {
        reason += "not a std::exception";
    }
    fail(verdict::failed, std::move(reason));
}

}  // namespace weft::sim
