// sim.h: tests of concurrent code that control which green thread runs, for C.
//
//     static void test(void* arg) { ... }                    // runs once for each schedule
//
//     run_sim_report_t* found;
//     if (run_sim_explore(&found, NULL, test, NULL) != RUN_OK) fputs(run_sim_text(found), stderr);
//     run_sim_report_free(found);
//
// The code under test is the code of the program. A failure has a schedule, a short text with which
// run_sim_replay() runs the same order again. The functions are in the library weft::sim
// (pkg-config weft-sim), so weft/run.h does not include this header.
//
// See: docs/sim.md, docs/c_api.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/// How the next green thread is chosen, as weft::sim::strategy.
typedef enum run_sim_strategy RUN_INT_ENUM {
    RUN_SIM_PORTFOLIO = 0,  ///< the others in turns
    RUN_SIM_RANDOM_WALK = 1,
    RUN_SIM_PCT = 2,
    RUN_SIM_PARTIAL_ORDER = 3,
    RUN_SIM_UNIFORM_WALK = 4,
    RUN_SIM_EXHAUSTIVE = 5,  ///< all orders with at most two preemptions
    RUN_SIM_DPOR = 6,        ///< all orders that differ in what an operation sees
    RUN_SIM_DELAY_BOUNDED = 7,
} run_sim_strategy_t;

/// What has been found, as weft::sim::verdict.
typedef enum run_sim_verdict RUN_INT_ENUM {
    RUN_SIM_PASSED = 0,
    RUN_SIM_FAILED = 1,
    RUN_SIM_DEADLOCK = 2,
    RUN_SIM_LEAKED = 3,
    RUN_SIM_LIVELOCK = 4,
    RUN_SIM_RACE = 5,
    RUN_SIM_UNCONTROLLED = 6,
    RUN_SIM_UNREPEATABLE = 7,
    RUN_SIM_LOCK_ORDER = 8,
    RUN_SIM_STARVED = 9,
} run_sim_verdict_t;

/// A field that is zero has the usual value.
typedef struct run_sim_opts {
    size_t size;                  ///< sizeof(run_sim_opts_t)
    run_sim_strategy_t strategy;  ///< how green threads are chosen
    uint64_t seed;                ///< 0: WEFT_SIM_SEED, else 1
    uint64_t schedules;           ///< 0: WEFT_SIM_SCHEDULES, else 1000
    int64_t budget_ns;            ///< ends after that much time. 0: no limit
    int64_t lateness_ns;          ///< 0: 10 ms; below 0: green threads are never late
    uint64_t max_steps;           ///< of a schedule. 0: 1 000 000
    const char* around;           ///< a schedule to search near. NULL: WEFT_SIM_AROUND
    const char* trace;            ///< file for a failing schedule. NULL: WEFT_SIM_TRACE
    bool keeps_length;            ///< a failing schedule is not made shorter
    bool ignores_lock_order;      ///< RUN_SIM_LOCK_ORDER is not looked for
    uint64_t longest_wait;        ///< for a lock or channel, in steps of others. 0: any number
    unsigned processes;           ///< that search, each with a seed. 0: WEFT_SIM_PROCESSES, else 1
} run_sim_opts_t;

#define RUN_SIM_OPTS_INIT {sizeof(run_sim_opts_t), RUN_SIM_PORTFOLIO, 0, 0, 0, 0, 0, NULL, NULL, false, false, 0, 0}

/// What a simulation has found.
typedef struct run_sim_report run_sim_report_t;

/// Runs body(arg) with many schedules, until one fails. WEFT_SIM=SCHEDULE in the environment runs
/// that one only. opts NULL: the usual ones. Blocks; only a plain thread may call it. RUN_OK: all
/// have passed. RUN_FAILED: one has not. In both cases the caller frees *report; it may be NULL.
/// RUN_INVALID: an argument, or a variable of the environment, cannot be read, and nothing ran.
run_status_t run_sim_explore(run_sim_report_t** report, const run_sim_opts_t* opts, void (*body)(void* arg), void* arg)
    RUN_NOEXCEPT;

/// Runs body(arg) with the schedule of a report. Otherwise as run_sim_explore.
run_status_t run_sim_replay(run_sim_report_t** report,
                            const char* schedule,
                            const run_sim_opts_t* opts,
                            void (*body)(void* arg),
                            void* arg) RUN_NOEXCEPT;

/// Runs each schedule twice; RUN_SIM_UNREPEATABLE if the two differ. Otherwise as run_sim_explore.
run_status_t run_sim_check_repeatable(run_sim_report_t** report,
                                      const run_sim_opts_t* opts,
                                      void (*body)(void* arg),
                                      void* arg) RUN_NOEXCEPT;

/// Of a report. Texts end by zero and live as long as the report. NULL has passed, and has empty
/// texts.
run_sim_verdict_t run_sim_verdict(const run_sim_report_t* report) RUN_NOEXCEPT;
const char* run_sim_reason(const run_sim_report_t* report) RUN_NOEXCEPT;
/// For run_sim_replay. Empty if all have passed.
const char* run_sim_schedule(const run_sim_report_t* report) RUN_NOEXCEPT;
/// All of it, with a line for each step.
const char* run_sim_text(const run_sim_report_t* report) RUN_NOEXCEPT;
/// How many schedules ran, and how many steps they had.
uint64_t run_sim_schedules(const run_sim_report_t* report) RUN_NOEXCEPT;
uint64_t run_sim_steps(const run_sim_report_t* report) RUN_NOEXCEPT;
/// Accepts NULL.
void run_sim_report_free(run_sim_report_t* report) RUN_NOEXCEPT;

/// A number below n that the schedule chooses, so that it is repeated with it. Outside of a
/// simulation: random. 0 if n is 0.
uint32_t run_sim_choose(uint32_t n) RUN_NOEXCEPT;

/// Fails the schedule that runs the caller, and copies reason. The caller goes on until its next
/// operation on an object of weft. Outside of a simulation: does nothing, and returns false.
bool run_sim_fail(const char* reason) RUN_NOEXCEPT;

#define RUN_SIM_TEXT_(line) #line
#define RUN_SIM_PLACE_(line) RUN_SIM_TEXT_(line)

/// Fails the schedule if condition does not hold. Outside of a simulation it is evaluated and
/// nothing else.
#define RUN_SIM_CHECK(condition) \
    ((condition) ? true          \
                 : (run_sim_fail("does not hold: " #condition " (" __FILE__ ":" RUN_SIM_PLACE_(__LINE__) ")"), false))

#ifdef __cplusplus
}
#endif
