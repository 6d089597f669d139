// triggers_test.cc: recordings that are saved when something happens.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include <weft/observe/doctor.h>
#include <weft/observe/recorder.h>
#include <weft/observe/triggers.h>
#include <weft/trace.h>
#include <weft/weft.h>

#include "support/build.h"
#include "support/captured.h"
#include "support/eventually.h"
#include "support/form.h"
#include "support/temp_folder.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using observe::recorder;
using observe::recording;
using observe::trigger_options;
using observe::triggers;

class Triggers : public ::testing::Test {
protected:
    // Without a limit, unless the test sets one.
    [[nodiscard]] trigger_options options() {
        trigger_options o;
        o.folder = folder_.path();
        o.after = 0ns;
        o.at_most_every = 0ns;
        o.by_watchdog = false;
        o.saved = [this](const std::string& path, std::string_view why) {
            const std::lock_guard lock(mutex_);
            paths_.push_back(path);
            reasons_.emplace_back(why);
        };
        return o;
    }

    [[nodiscard]] std::vector<std::string> reasons() {
        const std::lock_guard lock(mutex_);
        return reasons_;
    }

    [[nodiscard]] std::string path_of(std::size_t number) {
        const std::lock_guard lock(mutex_);
        return paths_.at(number);
    }

    [[nodiscard]] std::size_t files() const {
        std::size_t count = 0;
        for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
            if (entry.path().extension() == ".weftrec") ++count;
        }
        return count;
    }

    temp_folder folder_;

private:
    std::mutex mutex_;
    std::vector<std::string> paths_;
    std::vector<std::string> reasons_;
};

TEST_F(Triggers, ACallSavesWhatLedToItAndWhatFollowed) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    trigger_options o = options();
    o.after = 50ms;
    triggers t(r, o);
    rt.run([&t] {
        { const trace::region before("before"); }
        t.trigger("slow request/1");
        { const trace::region after("after"); }
    });
    eventually([&] { return t.saved() == 1; });
    EXPECT_TRUE(has_form(path_of(0), folder_.path() + "/observe_tests-%d-%d-slow_request_1.weftrec")) << path_of(0);
    EXPECT_EQ(reasons(), std::vector<std::string>{"slow request/1"});
    const recording saved = recording::read(path_of(0));
    saved.write_text(folder_ / "text");
    std::string text;
    {
        std::FILE* file = std::fopen((folder_ / "text").c_str(), "r");
        ASSERT_NE(file, nullptr);
        char buffer[4096];
        for (std::size_t size = 0; (size = std::fread(buffer, 1, sizeof(buffer), file)) != 0;)
            text.append(buffer, size);
        std::fclose(file);
    }
    EXPECT_NE(text.find("begins region before"), std::string::npos);
    EXPECT_NE(text.find("begins region after"), std::string::npos);
    EXPECT_NE(text.find("trigger: slow request/1"), std::string::npos);
}

TEST_F(Triggers, ALimitCountsThoseThatComeTooSoon) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    trigger_options o = options();
    o.at_most_every = 1h;
    triggers t(r, o);
    t.trigger("first");
    eventually([&] { return t.saved() == 1; });
    for (int i = 1; i <= 5; ++i) {
        t.trigger("later");
        eventually([&] { return t.left_out() == static_cast<uint64_t>(i); });
    }
    EXPECT_EQ(t.saved(), 1U);
    EXPECT_EQ(files(), 1U);
}

TEST_F(Triggers, OldFilesAreRemoved) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    trigger_options o = options();
    o.files = 2;
    triggers t(r, o);
    for (uint64_t i = 1; i <= 5; ++i) {
        t.trigger("one");
        eventually([&] { return t.saved() == i; });
    }
    EXPECT_EQ(files(), 2U);
    EXPECT_FALSE(std::filesystem::exists(path_of(2)));
    EXPECT_TRUE(std::filesystem::exists(path_of(3)));
    EXPECT_TRUE(std::filesystem::exists(path_of(4)));
}

// Files of several objects, and of other processes, may be in the same folder.
TEST_F(Triggers, NoFileIsOverwritten) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    trigger_options o = options();
    o.files = 1;
    triggers a(r, o);
    triggers b(r, o);
    a.trigger("x");
    eventually([&] { return a.saved() == 1; });
    b.trigger("x");
    eventually([&] { return b.saved() == 1; });
    EXPECT_EQ(files(), 2U);
    // The next number, as a link to another file.
    const std::string last = path_of(1);
    const std::size_t end = last.rfind('-');
    const std::size_t begin = last.rfind('-', end - 1) + 1;
    const int next = std::stoi(last.substr(begin, end - begin)) + 1;
    const std::string other = folder_ / "other";
    std::ofstream(other) << "unchanged";
    std::filesystem::create_symlink(other, last.substr(0, begin) + std::to_string(next) + "-x.weftrec");
    a.trigger("x");
    eventually([&] { return a.saved() == 2; });
    EXPECT_EQ(std::filesystem::file_size(other), 9U);
    EXPECT_NE(path_of(2).find("-" + std::to_string(next + 1) + "-x"), std::string::npos) << path_of(2);
}

TEST_F(Triggers, MaySaveEverything) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    rt.run([] { const trace::region early("early"); });
    trigger_options o = options();
    o.before = (std::chrono::nanoseconds::max)();
    triggers t(r, o);
    t.trigger("all");
    eventually([&] { return t.saved() == 1; });
    EXPECT_NE(recording::read(path_of(0)).summary().find("early"), std::string::npos);
}

TEST_F(Triggers, ASignalSaves) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    trigger_options o = options();
    o.signal = SIGUSR2;
    {
        triggers t(r, o);
        std::raise(SIGUSR2);
        eventually([&] { return t.saved() == 1; });
    }
    std::raise(SIGUSR2);  // it has no effect
    triggers again(r, o);
    std::raise(SIGUSR2);
    eventually([&] { return again.saved() == 1; });
    EXPECT_EQ(reasons(), (std::vector<std::string>(2, "signal " + std::to_string(SIGUSR2))));
}

TEST_F(Triggers, AConditionSaves) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    std::atomic<bool> is_bad{false};
    trigger_options o = options();
    o.at_most_every = 1h;
    o.period = 1ms;
    o.when = [&is_bad] { return is_bad.load(); };
    const triggers t(r, o);
    is_bad = true;
    eventually([&] { return t.saved() == 1; });
    EXPECT_EQ(reasons(), std::vector<std::string>{"condition"});
}

TEST_F(Triggers, AReportOfTheWatchdogSaves) {
    std::size_t saved = 0;
    const std::string report = stderr_of([&] {
        runtime rt({.procs = 1, .retake = false, .watchdog = 5ms});
        const recorder r(rt);
        trigger_options o = options();
        o.by_watchdog = true;
        o.at_most_every = 1h;
        const triggers t(r, o);
        rt.run([&t] { busily([&] { return t.saved() == 1; }); });
        saved = t.saved();
    });
    EXPECT_EQ(saved, 1U);
    EXPECT_EQ(reasons(), std::vector<std::string>{"watchdog"});
    EXPECT_NE(report.find("has run for"), std::string::npos) << report;
}

TEST_F(Triggers, TheEndSavesWhatWasTriggered) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    trigger_options o = options();
    o.after = 1h;
    {
        triggers t(r, o);
        t.trigger("at the end");
    }
    EXPECT_EQ(reasons(), std::vector<std::string>{"at the end"});
    EXPECT_EQ(files(), 1U);
}

TEST_F(Triggers, RefuseOptionsThatMakeNoSense) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    trigger_options o = options();
    o.before = -1ns;
    EXPECT_THROW(triggers(r, o), std::invalid_argument);
    o = options();
    o.when = [] { return false; };
    o.period = 0ns;
    EXPECT_THROW(triggers(r, o), std::invalid_argument);
    o = options();
    o.signal = 1000;
    EXPECT_THROW(triggers(r, o), std::invalid_argument);
    o = options();
    o.signal = SIGKILL;
    EXPECT_THROW(triggers(r, o), std::system_error);
    o = options();
    o.folder = folder_ / "missing";
    try {
        const triggers t(r, o);
        FAIL() << "nothing was thrown";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::no_such_file_or_directory);
        EXPECT_NE(std::string_view(e.what()).find(o.folder), std::string_view::npos);
    }
}

TEST_F(Triggers, AreAtMost64) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    std::vector<std::unique_ptr<triggers>> all;
    for (int i = 0; i < 64; ++i) all.push_back(std::make_unique<triggers>(r, options()));
    EXPECT_THROW(triggers(r, options()), std::length_error);
    all.pop_back();
    const triggers one_more(r, options());
}

// What a process leaves that ends in a given way. A death test starts the program again, with the
// fixture: then the folder is its parent's.
class LastMoment : public ::testing::Test {
protected:
    LastMoment() {
        GTEST_FLAG_SET(death_test_style, "threadsafe");
        const char* inherited = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): no threads yet
        if (inherited == nullptr) own_.emplace();
        folder_ = inherited != nullptr ? inherited : own_->path();
        setenv(variable, folder_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): no threads yet
    }

    ~LastMoment() override { unsetenv(variable); }  // NOLINT(concurrency-mt-unsafe): no threads any more

    template <typename F>
    void end_after_recording(F end) {
        std::_Exit(weft::main({.procs = 1}, [&] {
            const recorder r;
            trigger_options o;
            o.folder = folder_;
            o.at_most_every = 1h;
            const triggers t(r, o);
            const trace::region last("last words");
            end();
        }));
    }

    void check_file(const std::string& reason) {
        std::vector<std::filesystem::path> found;
        for (const auto& entry : std::filesystem::directory_iterator(folder_)) found.push_back(entry.path());
        ASSERT_EQ(found.size(), 1U);
        EXPECT_TRUE(has_form(found[0].string(), folder_ + "/observe_tests-%d-1-" + reason + ".weftrec")) << found[0];
        EXPECT_NE(recording::read(found[0]).summary().find("last words"), std::string::npos);
    }

private:
    static constexpr const char* variable = "WEFT_TEST_LAST_MOMENT";

    std::optional<temp_folder> own_;
    std::string folder_;
};

TEST_F(LastMoment, OfAFaultIsSaved) {
    if (built_with_sanitizer) GTEST_SKIP() << "the sanitizer handles faults";
    EXPECT_DEATH(end_after_recording([] { *static_cast<volatile int*>(nullptr) = 1; }), "");
    check_file("fatal");
}

TEST_F(LastMoment, OfAnUncaughtExceptionIsSaved) {
    EXPECT_DEATH(end_after_recording([] {
                     go([] { throw std::runtime_error("uncaught"); });
                     sleep_for(1h);
                 }),
                 "uncaught");
    check_file("fatal");
}

TEST_F(LastMoment, OfAMisuseIsSaved) {
    EXPECT_DEATH(end_after_recording([] { weft::mutex().unlock(); }), "weft: fatal");
    check_file("fatal");
}

TEST_F(LastMoment, OfADeadlockIsSaved) {
    if (built_with_tsan) GTEST_SKIP() << "the sanitizer's own thread might wake a green thread";
    EXPECT_EXIT(end_after_recording([] { chan<int>().recv(); }), ::testing::ExitedWithCode(86), "deadlock");
    check_file("deadlock");
}

TEST(Doctor, FindsThatRecordingAndNamesWork) {
    const std::vector<observe::finding> found = observe::diagnose();
    ASSERT_GE(found.size(), 2U);
    EXPECT_EQ(found[0].what, "recording");
    EXPECT_EQ(found[0].is, observe::health::good) << found[0].why;
    EXPECT_TRUE(has_form(found[0].why, "known events were recorded, written to a file, and found in it (%d events)"))
        << found[0].why;
    EXPECT_EQ(found[1].what, "names in reports");
    EXPECT_EQ(found[1].is, observe::health::good) << found[1].why;
    EXPECT_EQ(observe::text_of({"x", observe::health::limited, "a reason", "a remedy"}),
              "limited x: a reason\n        -> a remedy\n");
}

}  // namespace
}  // namespace weft::test
