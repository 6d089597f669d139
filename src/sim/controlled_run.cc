// controlled_run.cc: see controlled_run.h.
#include "sim/controlled_run.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <weft/error.h>
#include <weft/go.h>

#include "os/unwind.h"
#include "sched/schedule.h"

namespace weft::sim {

namespace {

using weft::detail::G;
using weft::detail::operation;

// What a lone green thread that yields in a loop sees of time.
constexpr int64_t lone_yield_ns = 1'000;

// A loop that computes until a time has come asks for the time and does nothing else. After so many
// times in one step, that takes time.
constexpr uint32_t free_asks = 1'000;
constexpr int64_t ask_ns = 1'000;

// Then the one that waits longest runs, whatever the strategy says. So a loop that waits for
// another green thread without saying so ends, as it would on any system.
constexpr uint32_t fair_steps = 500;

// The clock, among the options.
constexpr uint32_t the_clock = 0;

// Of an operation that is about to begin: those of weft come first.
std::vector<const void*> frames_of_caller() {
    constexpr std::size_t most = 24;
    std::vector<const void*> frames;
    weft::detail::os::for_each_own_frame(
        [](void* to, const void* pc) {
            auto& all = *static_cast<std::vector<const void*>*>(to);
            all.push_back(pc);
            return all.size() < most;
        },
        &frames);
    return frames;
}

}  // namespace

controlled_run::~controlled_run() {
    if (result_ != verdict::passed) network_.computers.abandon();
}

void controlled_run::begin(chooser* by, const schedule* replayed, kept keeps) {
    driver_ = only_m->g;
    chooser_ = by;
    replayed_ = replayed;
    replayed_at_ = 0;
    keeps_steps_ = keeps != kept::nothing;
    keeps_frames_ = keeps == kept::steps_and_frames;
    runnable_.clear();
    pending_.clear();
    frames_of_.clear();
    picked_ = nullptr;
    choices_ = 0;
    random_state_ = 0;
    taken_.clear();
    steps_ = 0;
    idle_moves_ = 0;
    asks_ = 0;
    records_.clear();
    green_threads_.clear();
    body_returned_ = false;
    repeatable_ = true;
    result_ = verdict::passed;
    reason_.clear();
    now_ns = begin_ns;
    places_.clear();
    host_instead_.reset();
    network_.clear();
    runtimes_.clear();
    order_.clear();
    locks_.clear();
    fairness_.clear();
}

// splitmix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
uint64_t controlled_run::random_number() noexcept {
    if (chooser_ != nullptr) chooser_->did(operation::checkpoint, nullptr);
    random_state_ += 0x9e3779b97f4a7c15;
    uint64_t x = random_state_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

int64_t controlled_run::asked_ns() noexcept {
    if (++asks_ > free_asks) now_ns += ask_ns;
    return now_ns;
}

void controlled_run::execute(const std::function<void()>& body) {
    auto& count = only_m->p->count;
    const uint64_t finished = count.finished.get();
    const uint64_t spawned = count.spawned.get();
    numbers_.clear();
    last_number_ = 0;
    {
        weft::detail::timer_queue& timers = only_m->p->timers;
        timers.lock.lock();
        timers.rewind_locked();
        timers.lock.unlock();
    }
    weft::go([this, &body] {
        body();
        body_returned_ = true;
    });
    weft::detail::requeue(only_m);
    limits_.watch->stepped(0);
    const std::size_t runtimes_left = runtimes_.forget();
    all_abandoned_ += runtimes_.abandoned();
    if (result_ != verdict::passed) return;
    const uint64_t left = (count.spawned.get() - spawned) - (count.finished.get() - finished) - runtimes_.abandoned();
    if (left == 0) {
        if (runtimes_left == 0) return;
        repeatable_ = false;  // it is there, and does not run
        fail(verdict::leaked,
             "a weft::runtime that was started in the test outlives it; end it before the test returns");
        return;
    }
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

uint32_t controlled_run::number_of(uint64_t id) const noexcept {
    const uint64_t at = id - first_id_;
    return at < numbers_.size() ? numbers_[at] : 0;
}

uint32_t controlled_run::number_of(const G* g) const noexcept { return number_of(g->id); }

uint32_t controlled_run::number_new(G& g) {
    if (last_number_ == 0) first_id_ = g.id;
    const uint64_t at = g.id - first_id_;
    if (at >= numbers_.size()) numbers_.resize(at + 1);
    numbers_[at] = ++last_number_;
    place(g, last_number_);
    return last_number_;
}

controlled_run::pending& controlled_run::pending_of(uint32_t number) {
    if (number >= pending_.size()) pending_.resize(number + 1);
    return pending_[number];
}

bool controlled_run::count_step() noexcept {
    if (++steps_ > limits_.max_steps) {
        fail(verdict::livelock, "it has not ended after " + std::to_string(limits_.max_steps) + " steps");
        return false;
    }
    const uint32_t starved = limits_.longest_wait == 0 ? 0 : fairness_.find(steps_, limits_.longest_wait);
    if (starved == 0) return true;
    fail(verdict::starved, "green thread " + std::to_string(starved) + " has waited for more than " +
                               std::to_string(limits_.longest_wait) + " steps of others");
    return false;
}

void controlled_run::record(const candidate& taken, const candidate* by_default) {
    if (!keeps_steps_) return;
    records_.push_back({taken.g, taken.next, taken.object, by_default != nullptr, now_ns, {}, {}});
    if (by_default != nullptr) records_.back().instead = *by_default;
    if (taken.g < frames_of_.size()) records_.back().frames = frames_of_[taken.g];
}

candidate controlled_run::candidate_of(const G* g) {
    const uint32_t number = number_of(g);
    const pending& p = pending_of(number);
    return {number, p.what, p.object};
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

uint32_t controlled_run::choose(uint32_t n) noexcept { return is_driving() ? 0 : draw(n); }

uint32_t controlled_run::draw(uint32_t n) noexcept {
    if (n == 1) return 0;
    const uint32_t value = chooser_ != nullptr ? chooser_->draw(n) : replayed_option(n);
    note_option(value);
    return value;
}

// Of timers and of the network.
int64_t controlled_run::next_event_ns() const noexcept {
    return std::min(only_m->p->timers.next_deadline(), network_.events.next_ns());
}

void controlled_run::make_due_happen() {
    weft::detail::fire_simulated(only_m);
    network_.events.run_due(now_ns);
}

bool controlled_run::may_fire_early() const noexcept {
    const int64_t due_ns = next_event_ns();
    return due_ns != weft::detail::never && due_ns - now_ns <= limits_.lateness_ns;
}

// Whether runnable_[0] has waited too long.
bool controlled_run::is_due() const noexcept {
    return !runnable_.empty() && steps_ - runnable_.front().since > fair_steps;
}

// An index into: running, if it can continue, runnable_, running otherwise, if there is one, and
// the clock, if a timer may fire first.
uint32_t controlled_run::pick(G* running, bool can_continue) {
    options_.clear();
    if (running != nullptr && can_continue) options_.push_back(candidate_of(running));
    for (const waiting& w : runnable_) options_.push_back(candidate_of(w.g));
    if (running != nullptr && !can_continue) options_.push_back(candidate_of(running));
    if (may_fire_early()) options_.push_back({the_clock, operation::timer, nullptr});
    uint32_t option = 0;
    if (options_.size() > 1) {
        const auto n = static_cast<uint32_t>(options_.size());
        option = chooser_ != nullptr ? chooser_->pick(options_, can_continue) : replayed_option(n);
        note_option(option);
    }
    record(options_[option], option == 0 ? nullptr : options_.data());
    return option;
}

G* controlled_run::take(std::size_t index) noexcept {
    G* g = runnable_[index].g;
    runnable_.erase(runnable_.begin() + static_cast<std::ptrdiff_t>(index));
    return g;
}

G* controlled_run::take_due() {
    G* g = take(0);
    record(candidate_of(g));
    return g;
}

// g begins what it was about to do. If it waits there, it is not known what comes next.
G* controlled_run::begin_step(G* g) noexcept {
    asks_ = 0;
    const uint32_t number = number_of(g);
    limits_.watch->stepped(number);
    pending& p = pending_of(number);
    if (keeps_steps_) remember(*g, number);  // it may have got a name
    if (chooser_ != nullptr) chooser_->began({number, p.what, p.object});
    const bool is_access = p.what == operation::value_read || p.what == operation::value_write;
    if (p.object != nullptr && !is_access) {
        if (keeps_order_) order_.operate(number, p.object);
        if (keeps_locks_)
            locks_.operate(number, p.what, p.object, number < frames_of_.size() ? &frames_of_[number] : nullptr);
    } else if (keeps_locks_ && p.what == operation::select) {
        locks_.operate(number, p.what, nullptr, nullptr);
    }
    if (limits_.longest_wait != 0) fairness_.begin_step(number, g, steps_);
    p = {operation::run, nullptr};
    return g;
}

void controlled_run::remember(const G& g, uint32_t number) {
    if (number >= green_threads_.size()) green_threads_.resize(number + 1);
    g_record& r = green_threads_[number];
    r.name = g.name_or_empty();
    if (!r.started.empty() || number == 1) return;  // the first one is started by us
    std::string_view file = g.where.file_name();
    file.remove_prefix(file.rfind('/') + 1);  // npos + 1 is 0
    r.started = std::string(file) + ":" + std::to_string(g.where.line());
}

// A green thread that starts is where the one is that starts it.
void controlled_run::place(G& g, uint32_t number) {
    const uint32_t starter = number_of(g.parent);  // 0: the driver
    unsigned host = starter == 0 ? 0 : places_[starter].host;
    if (host_instead_) host = *host_instead_;
    places_.resize(number + 1);
    places_[number] = {host, network_.computers.boot(host)};
    runtimes_.place(g, number, starter);
    if (weft::detail::cancel_context* context = network_.computers.new_context(host)) {
        g.ambient = context;
        g.traits |= weft::detail::trait::ambient;
    }
}

controlled_run* controlled_run::of_caller() noexcept {
    auto* run = static_cast<controlled_run*>(weft::detail::current_simulation());  // the only kind
    return run == nullptr || run->is_driving() ? nullptr : run;
}

bool controlled_run::is_driving() const noexcept { return only_m->g == driver_; }

unsigned controlled_run::host_of_caller() const noexcept {
    if (host_instead_) return *host_instead_;
    const G* g = only_m->g;
    return g == nullptr || g == driver_ ? 0 : places_[number_of(g)].host;
}

uint32_t controlled_run::number_of_caller() const noexcept {
    const G* g = only_m->g;
    return g == nullptr || g == driver_ ? 0 : number_of(g);
}

bool controlled_run::caller_has_crashed() const noexcept {
    const uint32_t number = number_of_caller();
    if (number == 0) return false;
    const placed& p = places_[number];
    return !network_.computers.is_up(p.host) || network_.computers.boot(p.host) != p.boot;
}

void controlled_run::push(G* g) noexcept {
    if (g == driver_) return;
    uint32_t number = number_of(g);
    if (number == 0) number = number_new(*g);
    if (runtimes_.is_abandoned(number)) return;
    const bool was_replaced = pending_of(number).what != operation::run && pending_of(number).what != operation::start;
    const G* by = only_m->g;  // nullptr: a timer or the network
    if (chooser_ != nullptr && !was_replaced)
        chooser_->made_runnable(by == nullptr || by == driver_ ? 0 : number_of(by), number);
    if (by != nullptr && by != driver_) {
        if (keeps_order_) order_.make_runnable(number_of(by), number);
        if (keeps_locks_) locks_.make_runnable(number_of(by), number);
    }
    if (keeps_steps_) remember(*g, number);
    if (limits_.longest_wait != 0) fairness_.make_runnable(number);
    runnable_.push_back({g, steps_});
    idle_moves_ = 0;
}

void controlled_run::made(G* g) {
    if (g != driver_ && number_of(g) == 0) static_cast<void>(number_new(*g));
}

void controlled_run::drop_abandoned() noexcept {
    std::erase_if(runnable_, [this](const waiting& w) { return runtimes_.is_abandoned(number_of(w.g)); });
}

bool controlled_run::passes_time() noexcept {
    if (is_driving() || ++asks_ <= free_asks) return false;
    now_ns += ask_ns;
    return asks_ % free_asks == 0;
}

// The next of runnable_, after the timers that fire first. nullptr: nothing can run.
G* controlled_run::pick_waiting() {
    for (;;) {
        make_due_happen();
        const int64_t due_ns = next_event_ns();
        if (runnable_.empty()) {
            if (only_m->home->has_shared_work()) {
                fail(verdict::uncontrolled,
                     "a thread outside of the simulation has made a green thread runnable; let green threads of the "
                     "test do that");
                return nullptr;
            }
            if (due_ns == weft::detail::never) return nullptr;
            if (++idle_moves_ > limits_.max_steps) {
                fail(verdict::deadlock, "all green threads wait, and the last " + std::to_string(limits_.max_steps) +
                                            " timers or packets have woken none of them");
                return nullptr;
            }
        } else {
            if (!count_step()) return nullptr;
            if (is_due()) return take_due();
            const uint32_t option = pick(nullptr, false);
            if (option < runnable_.size()) return take(option);
        }
        now_ns = std::max(now_ns, due_ns);
    }
}

G* controlled_run::next() noexcept {
    if (result_ != verdict::passed) return driver_;
    make_due_happen();
    G* g = std::exchange(picked_, nullptr);
    if (g == nullptr) g = pick_waiting();
    return g == nullptr ? driver_ : begin_step(g);
}

bool controlled_run::replaces(G* g, operation what, const void* object) noexcept {
    if (g == driver_ || !has_steps_) return false;
    if (result_ != verdict::passed) return true;
    const uint32_t number = number_of(g);
    pending_of(number) = {what, object};
    if (keeps_frames_) {
        if (number >= frames_of_.size()) frames_of_.resize(number + 1);
        frames_of_[number] = frames_of_caller();
    }
    const bool yields = what == operation::yield;
    if (!count_step()) return true;
    if (is_due()) {
        picked_ = take_due();
        return true;
    }
    if (yields && runnable_.empty()) now_ns += lone_yield_ns;
    if (!limits_.before_operations && !yields) {
        record(candidate_of(g));
        begin_step(g);
        return false;
    }
    const uint32_t option = pick(g, !yields);
    const std::size_t first = yields ? 0 : 1;  // of runnable_
    if (option - first < runnable_.size()) {
        picked_ = take(option - first);
        return true;
    }
    if (options_[option].g == the_clock) {
        now_ns = std::max(now_ns, next_event_ns());
        return true;  // next() fires the timer, and asks again
    }
    begin_step(g);
    return yields && next_event_ns() <= now_ns;
}

void controlled_run::object_ends(const void* object) noexcept {
    if (chooser_ != nullptr) chooser_->did(operation::mutex_unlock, object);
    if (keeps_locks_) locks_.end(object);
}

void controlled_run::has_done(operation what, const void* object) noexcept {
    const uint32_t number = number_of(only_m->g);
    if (chooser_ != nullptr) chooser_->did(what, object);
    if (keeps_order_) order_.operate(number, object);
    if (keeps_locks_) locks_.operate(number, what, object, nullptr);
}

void controlled_run::failed(const G* g) noexcept {
    std::string reason = "an exception left green thread " + std::to_string(number_of(g)) + ": ";
    try {
        throw;
    } catch (const weft::cancelled&) {
        // That is how a green thread ends whose host has crashed, or whose runtime is being shut
        // down.
        if (caller_has_crashed() || runtimes_.is_stopping(number_of(g))) return;
        reason += "weft::cancelled";
    } catch (const std::exception& e) {
        reason += e.what();
    } catch (...) {
        reason += "not a std::exception";
    }
    fail(verdict::failed, std::move(reason));
}

void controlled_run::ended(const G* g) noexcept {
    if (g == driver_) return;
    if (limits_.longest_wait != 0) fairness_.ended(number_of(g));
    runtimes_.ended(number_of(g));
}

void controlled_run::note(std::string what) {
    if (keeps_steps_) records_.push_back({0, operation::run, nullptr, false, now_ns, std::move(what), {}});
}

void controlled_run::access(const void* value, bool writes, const std::source_location& where) {
    const uint32_t g = number_of(only_m->g);
    const order::access* other = order_.note(g, value, writes, where);
    if (other == nullptr) return;
    const auto text = [](uint32_t number, bool is_write, const std::source_location& at) {
        return "green thread " + std::to_string(number) + (is_write ? " writes at " : " reads at ") + at.file_name() +
               ":" + std::to_string(at.line());
    };
    fail(verdict::race, text(other->g, other->writes, other->where) + ", and " + text(g, writes, where) +
                            ", and nothing orders the two");
}

void controlled_run::escapes(const char* what) noexcept {
    fail(verdict::uncontrolled, "green thread " + std::to_string(number_of(only_m->g)) + " " + what);
}

weft::detail::simulated_fds* controlled_run::fds() noexcept { return network_.has_numbers() ? &network_ : nullptr; }

}  // namespace weft::sim
