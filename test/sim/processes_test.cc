// processes_test.cc: a search for a failing schedule by several processes.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <weft/sim/sim.h>
#include <weft/weft.h>

#include "support/environment.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using sim::strategy;
using sim::verdict;

void lose_an_update() {
    int value = 0;
    wait_group both;
    for (int i = 0; i < 2; ++i) {
        both.go([&value] {
            const int seen = value;
            yield();
            value = seen + 1;
        });
    }
    both.wait();
    if (value != 2) throw std::logic_error("an update was lost");
}

void keep_all_updates() {
    int value = 0;
    mutex m;
    wait_group both;
    for (int i = 0; i < 2; ++i) {
        both.go([&] {
            const std::lock_guard held(m);
            ++value;
        });
    }
    both.wait();
    if (value != 2) throw std::logic_error("an update was lost");
}

void expect_no_children() {
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
}

TEST(SeveralProcesses, ReportWhatOneOfThemHasFound) {
    const sim::report r = sim::explore({.schedules = 1'000'000'000, .processes = 3}, lose_an_update);
    EXPECT_EQ(r.result, verdict::failed);
    EXPECT_NE(r.reason.find("an update was lost"), std::string::npos) << r.reason;
    EXPECT_FALSE(r.steps_text.empty());
    EXPECT_LE(r.choices, 2U) << "it is made as short as that of one process: " << r.text();
    EXPECT_GT(r.schedules, 0U);
    EXPECT_LT(r.schedules, 1'000'000'000U) << "the others end, too";
    EXPECT_EQ(sim::replay(r.schedule, {}, lose_an_update).result, verdict::failed);
    expect_no_children();
}

TEST(SeveralProcesses, DivideTheSchedulesAmongThem) {
    const sim::report r = sim::explore({.schedules = 1000, .processes = 3}, keep_all_updates);
    EXPECT_TRUE(r) << r.text();
    EXPECT_EQ(r.schedules, 1000U);
    EXPECT_GT(r.steps, 1000U);
    expect_no_children();
}

TEST(SeveralProcesses, UseSeedsOfTheirOwn) {
    // Of the first schedule of each process one fails, if they are different.
    const auto body = [] {
        if (sim::choose(8) == 5) throw std::logic_error("five");
    };
    EXPECT_FALSE(sim::explore({.schedules = 200, .processes = 200, .pick = strategy::random_walk}, body));
}

TEST(SeveralProcesses, AreAsManyAsTheEnvironmentSays) {
    const environment_variable processes("WEFT_SIM_PROCESSES", "2");
    const pid_t parent = ::getpid();
    bool ran_here = false;
    const auto body = [&] { ran_here = ran_here || ::getpid() == parent; };
    EXPECT_TRUE(sim::explore({.schedules = 100}, body));
    EXPECT_FALSE(ran_here);
    EXPECT_TRUE(sim::explore({.schedules = 100, .processes = 1}, body));
    EXPECT_TRUE(ran_here) << "options have precedence";
    EXPECT_TRUE(sim::explore({.schedules = 100, .pick = strategy::dpor}, body)) << "which one process must do";
}

TEST(SeveralProcesses, TellWhenOneWasKilled) {
    const pid_t parent = ::getpid();
    const sim::report r = sim::explore({.schedules = 1'000'000'000, .processes = 2}, [parent] {
        if (::getpid() != parent && sim::choose(100) == 0) ::kill(::getpid(), SIGKILL);
    });
    EXPECT_EQ(r.result, verdict::failed);
    EXPECT_NE(r.reason.find("signal 9"), std::string::npos) << r.reason;
    expect_no_children();
}

TEST(SeveralProcesses, TellWhenAFailureDoesNotRepeat) {
    const pid_t parent = ::getpid();
    const sim::report r = sim::explore({.processes = 2}, [parent] {
        if (::getpid() != parent) throw std::logic_error("only in a child");
    });
    EXPECT_EQ(r.result, verdict::unrepeatable);
    EXPECT_NE(r.reason.find("only in a child"), std::string::npos) << r.reason;
}

TEST(SeveralProcesses, EndWithTheBudget) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(sim::explore({.schedules = 1'000'000'000, .budget = 200ms, .processes = 2}, keep_all_updates));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

TEST(SeveralProcesses, AreRefusedWhereSchedulesCannotBeDivided) {
    for (const strategy s : {strategy::exhaustive, strategy::dpor})
        EXPECT_THROW((void)sim::explore({.processes = 2, .pick = s}, keep_all_updates), std::invalid_argument);
    EXPECT_THROW((void)sim::explore({.processes = 1025}, keep_all_updates), std::invalid_argument);
}

TEST(SeveralProcesses, CanBeUsedAgainAndAgain) {
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(sim::explore({.schedules = 10, .processes = 2}, keep_all_updates));
    EXPECT_FALSE(sim::explore({.processes = 2}, lose_an_update));
    EXPECT_TRUE(sim::explore({.schedules = 10}, keep_all_updates)) << "in this process, after that";
}

}  // namespace
}  // namespace weft::test
