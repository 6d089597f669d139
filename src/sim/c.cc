// c.cc: simulations for C: see weft/run/sim.h.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <weft/error.h>
#include <weft/run/sim.h>
#include <weft/sim/sim.h>

#include "sim/controlled_run.h"

struct run_sim_report {
    weft::sim::report found;
    std::string text;
};

namespace {

using weft::sim::options;

// The values of the enumerations are the same.
static_assert(RUN_SIM_DELAY_BOUNDED == static_cast<int>(weft::sim::strategy::delay_bounded));
static_assert(RUN_SIM_RACE == static_cast<int>(weft::sim::verdict::race));
static_assert(RUN_SIM_STARVED == static_cast<int>(weft::sim::verdict::starved));

constexpr int64_t usual_lateness_ns = 10'000'000;

// Nothing: they are invalid. A caller that was compiled with an older header has fewer fields.
std::optional<options> read_sim_opts(const run_sim_opts_t* from) {
    run_sim_opts_t o = RUN_SIM_OPTS_INIT;
    if (from != nullptr) {
        if (from->size < sizeof(std::size_t)) return std::nullopt;
        std::memcpy(&o, from, from->size < sizeof(o) ? from->size : sizeof(o));
    }
    if (o.strategy < RUN_SIM_PORTFOLIO || o.strategy > RUN_SIM_DELAY_BOUNDED || o.budget_ns < 0) return std::nullopt;
    options with;
    with.pick = static_cast<weft::sim::strategy>(o.strategy);
    with.seed = o.seed;
    with.schedules = o.schedules;
    with.budget = std::chrono::nanoseconds(o.budget_ns);
    with.lateness =
        std::chrono::nanoseconds(o.lateness_ns == 0 ? usual_lateness_ns : std::max<int64_t>(o.lateness_ns, 0));
    if (o.max_steps != 0) with.max_steps = o.max_steps;
    if (o.around != nullptr) with.around = o.around;
    if (o.trace != nullptr) with.trace = o.trace;
    with.shrink = !o.keeps_length;
    with.lock_order = !o.ignores_lock_order;
    with.longest_wait = o.longest_wait;
    with.processes = o.processes;
    return with;
}

// simulate(options, function) gives a weft::sim::report.
template <typename F>
run_status_t report_of(
    run_sim_report_t** report, const run_sim_opts_t* opts, void (*body)(void*), void* arg, F simulate) noexcept {
    if (report == nullptr) return RUN_INVALID;
    *report = nullptr;
    if (body == nullptr) return RUN_INVALID;
    try {
        const std::optional<options> with = read_sim_opts(opts);
        if (!with) return RUN_INVALID;
        weft::sim::report found = simulate(*with, [body, arg] { body(arg); });
        std::string text = found.text();
        const bool passed = static_cast<bool>(found);
        *report = new run_sim_report{std::move(found), std::move(text)};
        return passed ? RUN_OK : RUN_FAILED;
    } catch (const std::bad_alloc&) {
        return RUN_EXHAUSTED;
    } catch (const weft::resource_exhausted&) {
        return RUN_EXHAUSTED;
    } catch (...) {
        return RUN_INVALID;  // std::invalid_argument: a schedule, or a variable of the environment
    }
}

}  // namespace

run_status_t run_sim_explore(run_sim_report_t** report,
                             const run_sim_opts_t* opts,
                             void (*body)(void* arg),
                             void* arg) noexcept {
    return report_of(report, opts, body, arg, &weft::sim::explore);
}

run_status_t run_sim_replay(run_sim_report_t** report,
                            const char* schedule,
                            const run_sim_opts_t* opts,
                            void (*body)(void* arg),
                            void* arg) noexcept {
    if (report != nullptr) *report = nullptr;
    if (schedule == nullptr) return RUN_INVALID;
    return report_of(report, opts, body, arg, [schedule](const options& with, std::function<void()> f) {
        return weft::sim::replay(schedule, with, std::move(f));
    });
}

run_status_t run_sim_check_repeatable(run_sim_report_t** report,
                                      const run_sim_opts_t* opts,
                                      void (*body)(void* arg),
                                      void* arg) noexcept {
    return report_of(report, opts, body, arg, &weft::sim::check_repeatable);
}

run_sim_verdict_t run_sim_verdict(const run_sim_report_t* report) noexcept {
    return report == nullptr ? RUN_SIM_PASSED : static_cast<run_sim_verdict_t>(report->found.result);
}

const char* run_sim_reason(const run_sim_report_t* report) noexcept {
    return report == nullptr ? "" : report->found.reason.c_str();
}

const char* run_sim_schedule(const run_sim_report_t* report) noexcept {
    return report == nullptr ? "" : report->found.schedule.c_str();
}

const char* run_sim_text(const run_sim_report_t* report) noexcept {
    return report == nullptr ? "" : report->text.c_str();
}

uint64_t run_sim_schedules(const run_sim_report_t* report) noexcept {
    return report == nullptr ? 0 : report->found.schedules;
}

uint64_t run_sim_steps(const run_sim_report_t* report) noexcept { return report == nullptr ? 0 : report->found.steps; }

void run_sim_report_free(run_sim_report_t* report) noexcept { delete report; }

uint32_t run_sim_choose(uint32_t n) noexcept { return n == 0 ? 0 : weft::sim::choose(n); }

bool run_sim_fail(const char* reason) noexcept {
    auto* run = weft::sim::controlled_run::of_caller();
    if (run == nullptr) return false;
    run->fail(weft::sim::verdict::failed, reason == nullptr ? "run_sim_fail" : reason);
    return true;
}
