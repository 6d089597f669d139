// explore.cc: runs a test with many schedules, and makes a failing one short.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <weft/error.h>
#include <weft/go.h>
#include <weft/runtime.h>
#include <weft/sim/fuzz.h>
#include <weft/sim/sim.h>

#include "base/assert.h"
#include "base/report_hook.h"
#include "lifecycle/start.h"
#include "os/os.h"
#include "sched/random.h"
#include "sim/clocks.h"
#include "sim/controlled_run.h"
#include "sim/failure_text.h"
#include "sim/places.h"
#include "sim/processes.h"
#include "sim/random_numbers.h"
#include "sim/trace_file.h"

namespace weft::sim {

namespace {

using clock = std::chrono::steady_clock;

constexpr uint64_t usual_schedules = 1000;
constexpr uint64_t most_abandoned = 64;  // green threads; their memory stays as long as their runtime
constexpr auto shrink_time = std::chrono::seconds(5);

uint64_t from_environment(const char* name, uint64_t usual) {
    const char* text = std::getenv(name);
    if (text == nullptr || *text == '\0') return usual;
    char* end = nullptr;
    const uint64_t value = std::strtoull(text, &end, 10);
    if (*end != '\0' || value == 0)
        throw std::invalid_argument(std::string("weft::sim: ") + name + "=" + text + " is not a number above zero");
    return value;
}

// A runtime for simulations. It is replaced after a failure, because what waits then never ends.
class world {
public:
    // Calls each(run) on a green thread that is not simulated, until it returns false.
    template <typename F>
    void drive(const controlled_run::limits& within, F&& each) {
        while (drive_a_while(within, each)) {}
    }

private:
    // True: only its runtime has to be replaced before the next schedule.
    template <typename F>
    bool drive_a_while(const controlled_run::limits& within, F& each) {
        runtime& rt = get();
        bool goes_on = true;
        bool clean = true;
        std::exception_ptr error;
        rt.run([&] {
            controlled_run run(within);
            weft::detail::begin_simulation(run);
            try {
                while (goes_on && run.all_abandoned() < most_abandoned)
                    goes_on = each(run) && run.result() == verdict::passed;
            } catch (...) {
                error = std::current_exception();
            }
            clean = run.result() == verdict::passed && run.all_abandoned() == 0;
            // What a schedule leaves must not run without the simulation.
            if (!clean) weft::detail::request_stop(*run.only_m->home);
            weft::detail::end_simulation(run);
        });
        if (!clean) {
            runtime_->abandon();
            runtime_.reset();
        }
        if (error) std::rethrow_exception(error);
        return goes_on;
    }

    runtime& get() {
        if (!runtime_) {
            runtime_ = std::make_unique<runtime>(runtime_options{
                .procs = 1, .retake = false, .name = "sim", .preempt_signal = runtime_options::no_signal});
        }
        return *runtime_;
    }

    std::unique_ptr<runtime> runtime_;
};

lock_order::inversion inversion_of(const controlled_run& run) {
    return run.result() == verdict::passed ? run.inversion() : lock_order::inversion{};
}

outcome outcome_of(const controlled_run& run, lock_order::inversion locks) {
    const verdict result = locks.empty() ? run.result() : verdict::lock_order;
    return {result,           run.reason(),       run.taken(), run.records(), run.green_threads(),
            std::move(locks), run.is_repeatable()};
}

class exploration {
public:
    exploration(const options& with, std::function<void()> body)
        : with_(with), body_(std::move(body)), limits_{with.max_steps,  with.before_operations, with.lateness.count(),
                                                       with.lock_order, with.longest_wait,      &watch_} {
        if (with.pick == strategy::dpor && !with.before_operations)
            throw std::invalid_argument("weft::sim: strategy::dpor needs options::before_operations; leave it on");
    }

    report explore() {
        const unsigned n = processes();
        return n > 1 ? explore_with(n) : explore(*chooser_for_exploring(seed()), schedules());
    }

    // One schedule, of a fuzzer.
    report explore_input(std::span<const unsigned char> input) { return explore(*make_from_input(input), 1); }

    // The next schedules are those of body.
    void replace_body(std::function<void()> body) { body_ = std::move(body); }

    report replay(const schedule& wanted) {
        report r;
        r.schedules = 1;
        outcome o = once(wanted, controlled_run::kept::nothing, &r.steps);
        if (o.result != verdict::passed) describe(r, o);
        return r;
    }

    // The second runs come later, each in a run of its own, so that what one schedule leaves to the
    // next is noticed, too.
    report check_repeatable() {
        limits_.lock_order = false;
        const auto chooser = make_chooser(with_, seed());
        report r;
        std::vector<outcome> all;
        world_.drive(limits_, [&](controlled_run& run) {
            if (r.schedules == schedules() || !chooser->begin()) return false;
            run.begin(chooser.get(), nullptr, controlled_run::kept::steps);
            execute(run);
            chooser->ended(run.steps());
            all.push_back(outcome_of(run, {}));
            ++r.schedules;
            r.steps += run.steps();
            return true;
        });
        for (const outcome& first : all) {
            compare(first, once(first.taken, controlled_run::kept::steps), r);
            if (!r) return r;
        }
        if (!all.empty() && all.back().result != verdict::passed) describe(r, all.back());
        return r;
    }

private:
    report explore(chooser& by, uint64_t most) {
        const auto now = clock::now();
        const bool is_endless = with_.budget.count() == 0 || with_.budget > clock::time_point::max() - now;
        const auto end = is_endless ? clock::time_point::max() : now + with_.budget;
        report r;
        std::optional<outcome> failure;
        std::optional<outcome> inverted;  // the first schedule that has passed, and is one
        uint64_t inverted_in = 0;
        world_.drive(limits_, [&](controlled_run& run) {
            if (r.schedules == most || (r.schedules % 64 == 63 && clock::now() >= end)) return false;
            if (shared_ != nullptr && shared_->stop) return false;
            if (!by.begin()) {
                r.exhausted = true;
                return false;
            }
            run.begin(&by, nullptr, controlled_run::kept::nothing);
            execute(run);
            by.ended(run.steps());
            ++r.schedules;
            r.steps += run.steps();
            if (shared_ != nullptr) {
                ++shared_->schedules;
                shared_->steps += run.steps();
            }
            lock_order::inversion locks = inversion_of(run);
            if (run.result() != verdict::passed) {
                failure = outcome_of(run, {});
            } else if (!locks.empty()) {
                inverted = outcome_of(run, std::move(locks));
                inverted_in = r.schedules;
                run.forget_locks();
            }
            return true;
        });
        if (failure || inverted) {
            outcome& first = failure ? *failure : *inverted;
            if (!failure) r.schedules = inverted_in;
            if (shared_ != nullptr) {  // its parent describes it
                r.result = first.result;
                r.reason = first.reason;
                r.schedule = to_text(first.taken);
                return r;
            }
            describe(r, with_.shrink && first.is_repeatable ? shrink(std::move(first)) : first);
        }
        return r;
    }

    // The same by n processes.
    report explore_with(unsigned n) {
        const uint64_t most = schedules();
        const search_result all = search_in_processes(n, [&](unsigned i, progress& shared) -> finding {
            shared_ = &shared;
            const report r =
                explore(*chooser_for_exploring(seed() + i * 0x9e3779b97f4a7c15U), most / n + (i < most % n));
            if (r) return {};
            return {r.result != verdict::lock_order, r.schedule, r.reason};
        });
        report r;
        r.schedules = all.schedules;
        r.steps = all.steps;
        if (!all.found.empty() && (all.found.failed || all.death.empty())) {
            report_finding(r, all.found);
        } else if (!all.death.empty()) {
            r.result = verdict::failed;
            r.reason = "a process of the search " + all.death + "; it has said why on stderr, if it could";
        }
        return r;
    }

    void report_finding(report& r, const finding& found) {
        r.result = verdict::failed;
        r.reason = found.reason;
        r.schedule = found.schedule;
        if (found.schedule.empty()) return;
        outcome here = once(parse_schedule(found.schedule), controlled_run::kept::nothing);
        if (here.result == verdict::passed) {
            r.result = verdict::unrepeatable;
            r.reason += "; found by another process, and in this one the same schedule passes";
            return;
        }
        describe(r, with_.shrink && here.is_repeatable ? shrink(std::move(here)) : here);
    }

    [[nodiscard]] unsigned processes() const {
        const uint64_t n = with_.processes != 0 ? with_.processes : from_environment("WEFT_SIM_PROCESSES", 1);
        if (n > most_processes)
            throw std::invalid_argument("weft::sim: " + std::to_string(n) + " processes; the maximum is " +
                                        std::to_string(most_processes));
        const bool divisible = with_.pick != strategy::exhaustive && with_.pick != strategy::dpor;
        if (n > 1 && !divisible && with_.processes != 0)
            throw std::invalid_argument(
                "weft::sim: the schedules of exhaustive and dpor cannot be divided among processes");
        return divisible ? static_cast<unsigned>(n) : 1;
    }

    [[nodiscard]] uint64_t seed() const { return with_.seed != 0 ? with_.seed : from_environment("WEFT_SIM_SEED", 1); }

    [[nodiscard]] uint64_t schedules() const {
        return with_.schedules != 0 ? with_.schedules : from_environment("WEFT_SIM_SCHEDULES", usual_schedules);
    }

    [[nodiscard]] std::unique_ptr<chooser> chooser_for_exploring(uint64_t seed) const {
        std::string around = with_.around;
        if (const char* text = std::getenv("WEFT_SIM_AROUND"); around.empty() && text != nullptr) around = text;
        return around.empty() ? make_chooser(with_, seed) : make_neighbours(parse_schedule(around), seed);
    }

    [[nodiscard]] std::string trace_file() const {
        const char* text = std::getenv("WEFT_SIM_TRACE");
        return !with_.trace.empty() || text == nullptr ? with_.trace : text;
    }

    static void compare(const outcome& first, const outcome& second, report& r);

    void execute(controlled_run& run) {
        run.execute(body_);
        if (with_.has_failed && with_.has_failed()) run.fail(verdict::failed, "a check of the test has failed");
    }

    outcome once(const schedule& wanted, controlled_run::kept keeps, uint64_t* steps = nullptr) {
        outcome o;
        bool ran = false;
        world_.drive(limits_, [&](controlled_run& run) {
            if (std::exchange(ran, true)) return false;
            run.begin(nullptr, &wanted, keeps);
            execute(run);
            if (steps != nullptr) *steps = run.steps();
            o = outcome_of(run, inversion_of(run));
            return true;
        });
        return o;
    }

    // Removes deviations while the failure stays: halves first, then single ones (Zeller and
    // Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002).
    outcome shrink(outcome best) {
        const auto end = clock::now() + shrink_time;
        for (std::size_t size = (best.taken.size() + 1) / 2; size != 0 && clock::now() < end;) {
            bool removed = false;
            for (std::size_t at = 0; at < best.taken.size() && clock::now() < end;) {
                schedule tried = best.taken;
                const std::size_t stop = std::min(at + size, tried.size());
                tried.erase(tried.begin() + static_cast<std::ptrdiff_t>(at),
                            tried.begin() + static_cast<std::ptrdiff_t>(stop));
                outcome o = once(tried, controlled_run::kept::nothing);
                if (o.result == best.result && o.taken.size() < best.taken.size()) {
                    best = std::move(o);
                    removed = true;
                } else {
                    at = stop;
                }
            }
            if (!removed || size > best.taken.size()) size = size == 1 && removed ? 1 : size / 2;
        }
        return best;
    }

    // With the steps, which are recorded by running it once more.
    void describe(report& r, const outcome& o);

    const options with_;
    std::function<void()> body_;
    step_watch watch_;
    controlled_run::limits limits_;
    world world_;
    progress* shared_ = nullptr;  // in a process of several
};

void exploration::compare(const outcome& first, const outcome& second, report& r) {
    place_finder places;
    object_numbers of_first;
    object_numbers of_second;
    const auto text = [&places](const outcome& o, std::size_t i, object_numbers& objects) {
        if (i >= o.records.size()) return std::string("it has ended");
        return text_of(o.records[i], o, objects, places) + ", at " + std::to_string(o.records[i].at_ns - begin_ns) +
               " ns";
    };
    for (std::size_t i = 0; i < std::max(first.records.size(), second.records.size()); ++i) {
        const std::string one = text(first, i, of_first);
        const std::string other = text(second, i, of_second);
        if (one == other) continue;
        r.result = verdict::unrepeatable;
        r.reason = "step " + std::to_string(i + 1) + " of the first run: ";
        r.reason += one;
        r.reason += "; of the second: ";
        r.reason += other;
        r.schedule = to_text(first.taken);
        r.choices = first.taken.size();
        object_numbers objects;
        r.steps_text = text_of(first, objects, places);
        return;
    }
    if (first.result == second.result && first.reason == second.reason) return;
    r.result = verdict::unrepeatable;
    r.reason = "the same steps, but the first run: " + first.reason + "; the second: " + second.reason;
    r.schedule = to_text(first.taken);
}

void exploration::describe(report& r, const outcome& o) {
    r.result = o.result;
    r.reason = o.reason;
    r.schedule = to_text(o.taken);
    r.choices = o.taken.size();
    if (!o.is_repeatable) return;
    outcome again = once(o.taken, controlled_run::kept::steps_and_frames);
    object_numbers objects;
    place_finder places;
    r.steps_text = text_of(again, objects, places);
    if (again.result == verdict::lock_order) again.reason = r.reason = text_of_locks(again, objects, places);
    if (again.result != o.result)
        r.reason +=
            "; the same schedule ended differently when it was repeated, so something outside of the simulation "
            "decides";
    if (const std::string file = trace_file(); !file.empty()) write_trace(file, again, objects, places);
}

const char* name_of(verdict v) noexcept {
    switch (v) {
        case verdict::passed:
            return "passed";
        case verdict::failed:
            return "failed";
        case verdict::deadlock:
            return "deadlock";
        case verdict::leaked:
            return "leaked";
        case verdict::livelock:
            return "livelock";
        case verdict::starved:
            return "starved";
        case verdict::race:
            return "race";
        case verdict::uncontrolled:
            return "uncontrolled";
        case verdict::unrepeatable:
            return "unrepeatable";
        case verdict::lock_order:
            return "lock-order inversion";
    }
    return "?";
}

// A fatal error ends the process, so its schedule is said before. Does not allocate.
void say_schedule(weft::detail::reported what) noexcept {
    const controlled_run* run = controlled_run::of_caller();
    if (what != weft::detail::reported::fatal || run == nullptr) return;
    const auto say = [](const char* text) {
        weft::detail::os::write_all(weft::detail::os::stderr_fd, text, std::strlen(text));
    };
    say("weft::sim: to repeat it: WEFT_SIM=");
    put_text(run->taken(), say);
    say("\n");
}

void check_caller() {
    use_clocks();
    use_random_numbers();
    weft::detail::set_report_hook(weft::detail::report_user::simulation, &say_schedule);
    if (this_g::id() != 0)
        weft::detail::fatal("weft::sim was called in a green thread; call it in a plain thread, such as that of main");
}

}  // namespace

std::string report::text() const {
    if (result == verdict::passed) {
        return "passed: " + std::to_string(schedules) + " schedules, " + std::to_string(steps) + " steps" +
               (exhausted ? ", all there are" : "");
    }
    return std::string(name_of(result)) + " in schedule " + std::to_string(schedules) + ": " + reason + "\n" +
           steps_text + "to repeat it: WEFT_SIM=" + schedule + "\n";
}

report explore(const options& with, std::function<void()> body) {
    check_caller();
    if (const char* wanted = std::getenv("WEFT_SIM"); wanted != nullptr && *wanted != '\0')
        return replay(std::string(wanted), with, std::move(body));
    return exploration(with, std::move(body)).explore();
}

report explore_input(std::span<const unsigned char> input, const options& with, std::function<void()> body) {
    check_caller();
    return exploration(with, std::move(body)).explore_input(input);
}

int fuzz(const unsigned char* data, std::size_t size, std::function<void()> body, const options& with) {
    // Its runtime is kept for the next call.
    static exploration* const all = [&] {
        check_caller();
        return new exploration(with, {});
    }();
    all->replace_body(std::move(body));
    const report r = all->explore_input({data, size});
    if (r) return 0;
    const std::string text = r.text();
    weft::detail::os::write_all(weft::detail::os::stderr_fd, text.data(), text.size());
    std::abort();
}

report replay(const std::string& text, const options& with, std::function<void()> body) {
    check_caller();
    const schedule wanted = parse_schedule(text);
    return exploration(with, std::move(body)).replay(wanted);
}

report check_repeatable(const options& with, std::function<void()> body) {
    check_caller();
    return exploration(with, std::move(body)).check_repeatable();
}

report run(const options& with, std::function<void()> body) {
    report r = explore(with, std::move(body));
    if (!r) throw failure(std::move(r));
    return r;
}

report run(std::function<void()> body) { return run(options{}, std::move(body)); }

uint32_t choose(uint32_t n) {
    if (n == 0) throw std::invalid_argument("weft::sim::choose(0): there is no number below 0");
    const uint32_t value = weft::detail::random_below(n);
    controlled_run* run = controlled_run::of_caller();
    if (value != 0 && run != nullptr && run->keeps_steps())
        run->note("choose(" + std::to_string(n) + ") is " + std::to_string(value));
    return value;
}

}  // namespace weft::sim
