// procs_test.h: a fixture that runs a test with 1, 2, 4 and 64 processors.
//
// Each test gets its own runtime with that many Ps. Afterwards all its Gs must be finished, all
// file descriptors closed, and the memory map no longer than threads and allocator caches explain.
// A test that hangs is ended with a dump of its green threads.
//
// In a suite:
//     using ChanOrder = procs_test;
//     WEFT_SWEEP(ChanOrder);
//     TEST_P(ChanOrder, ValuesLeaveInTheOrderTheyEntered) { rt().run([&] { … }); … }
//
// The fixture waits for green threads after the test's body. If they use its locals, the body ends
// with rt().drain(). Make assertions on the test's own thread: green threads store results in
// atomics, a tally, or a return value.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <weft/runtime.h>

#include "resources.h"
#include "watchdog.h"

namespace weft::test {

class procs_test : public ::testing::TestWithParam<unsigned> {
protected:
    // budget: time, beyond a few seconds, before the test counts as hanging.
    explicit procs_test(std::chrono::seconds budget = {});
    void TearDown() override;

    [[nodiscard]] unsigned procs() const { return GetParam(); }

    [[nodiscard]] runtime& rt() { return *rt_; }

    // Runs body and returns after n more waits have blocked. Called from outside rt(), while no
    // other G there blocks: then exactly body's Gs are parked.
    template <typename F>
    void park(uint64_t n, F&& body, std::source_location where = std::source_location::current()) {
        const uint64_t before = rt_->stats().parks;
        std::forward<F>(body)();
        wait_for_parks(before + n, where);
    }

    // As park, but also waits until each of the n has left its thread, so that its frames can be
    // read (the count rises a moment earlier). No other G may run.
    template <typename F>
    void park_off_thread(uint64_t n, F&& body, std::source_location where = std::source_location::current()) {
        park(n, std::forward<F>(body), where);
        wait_for_rest(where);
    }

private:
    void wait_for_parks(uint64_t total, std::source_location where);
    void wait_for_rest(std::source_location where);
    void expect_nothing_running();
    void expect_nothing_leaked();

    resources before_ = resources::now();
    std::unique_ptr<runtime> rt_;
    std::unique_ptr<watchdog> dog_;
};

// The running test's name.
[[nodiscard]] std::string current_test_name();

}  // namespace weft::test

// Instantiates a suite of procs_test for the usual numbers of processors, or those listed.
#define WEFT_SWEEP(suite) WEFT_SWEEP_OVER(suite, 1U, 2U, 4U, 64U)
#define WEFT_SWEEP_OVER(suite, ...)                   \
    INSTANTIATE_TEST_SUITE_P(                         \
        Procs, suite, ::testing::Values(__VA_ARGS__), \
        [](const ::testing::TestParamInfo<unsigned>& p) { return "P" + std::to_string(p.param); })
