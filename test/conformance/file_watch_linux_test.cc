// file_watch_linux_test.cc: changes of files and directories, and what ends the wait for one.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include <weft/fs/watch.h>
#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/temp_folder.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using fs::watch_event;
using fs::watch_kind;

using FileWatch = procs_test;
WEFT_SWEEP_OVER(FileWatch, 1U, 4U);

// The next event of that kind; others are skipped.
watch_event next(fs::watcher& w, watch_kind what) {
    for (;;) {
        const std::optional<watch_event> e = with_timeout(30s, [&] { return w.recv(); });
        if (!e.has_value()) return {};
        if (e->what == what) return *e;
    }
}

TEST_P(FileWatch, ReportsWhatHappensInADirectory) {
    const temp_folder here;
    rt().run([&] {
        fs::watcher w;
        w.add(here.path());
        fs::write_file(here / "a", "text");
        EXPECT_EQ(next(w, watch_kind::created).path, here / "a");
        EXPECT_EQ(next(w, watch_kind::written).path, here / "a");
        fs::rename(here / "a", here / "b");
        const watch_event from = next(w, watch_kind::moved_from);
        const watch_event to = next(w, watch_kind::moved_to);
        EXPECT_EQ(from.path, here / "a");
        EXPECT_EQ(to.path, here / "b");
        EXPECT_EQ(from.move, to.move);
        EXPECT_NE(from.move, 0U);
        fs::chmod(here / "b", 0600);
        EXPECT_EQ(next(w, watch_kind::attributes).path, here / "b");
        fs::unlink(here / "b");
        EXPECT_EQ(next(w, watch_kind::removed).path, here / "b");
        fs::mkdir(here / "d");
        EXPECT_TRUE(next(w, watch_kind::created).is_directory);
    });
}

TEST_P(FileWatch, AReceiverWaitsForAnEvent) {
    const temp_folder here;
    rt().run([&] {
        fs::watcher w;
        w.add(here.path());
        wait_group writer;
        writer.go([&] {
            sleep_for(2ms);
            fs::write_file(here / "late", "text");
        });
        EXPECT_EQ(next(w, watch_kind::written).path, here / "late");
        writer.wait();
    });
}

TEST_P(FileWatch, AFileThatIsRemovedIsNoLongerWatched) {
    const temp_folder here;
    rt().run([&] {
        fs::write_file(here / "a", "text");
        fs::write_file(here / "b", "text");
        fs::watcher w;
        w.add(here / "a");
        w.add(here / "b");
        fs::unlink(here / "a");
        EXPECT_EQ(next(w, watch_kind::gone).path, here / "a");
        EXPECT_FALSE(w.remove(here / "a"));
        EXPECT_TRUE(w.remove(here / "b"));
        EXPECT_EQ(next(w, watch_kind::gone).path, here / "b");
        EXPECT_FALSE(w.remove(here / "b"));
    });
}

TEST_P(FileWatch, TheWaitEndsWithADeadlineOrClose) {
    const temp_folder here;
    rt().run([&] {
        fs::watcher w;
        w.add(here.path());
        EXPECT_THROW(with_timeout(2ms, [&] { static_cast<void>(w.recv()); }), timed_out);
        std::error_code ec;
        with_timeout(2ms, [&] { EXPECT_FALSE(w.recv(ec).has_value()); });
        EXPECT_EQ(ec, errc::timed_out);
        int events = 0;
        wait_group reader;
        reader.go([&] {
            for (const watch_event& e : w) {
                static_cast<void>(e);
                ++events;
            }
        });
        sleep_for(2ms);
        w.close();
        reader.wait();
        EXPECT_EQ(events, 0);
        EXPECT_EQ(w.recv(), std::nullopt);
        w.add(here.path(), ec);
        EXPECT_EQ(ec, errc::closed);
    });
}

TEST_P(FileWatch, ManyEventsComeInOrder) {
    const temp_folder here;
    rt().run([&] {
        fs::watcher w;
        w.add(here.path());
        constexpr int n = 200;
        for (int i = 0; i < n; ++i) fs::mkdir(here / std::to_string(i));
        for (int i = 0; i < n; ++i) {
            const watch_event e = next(w, watch_kind::created);
            ASSERT_EQ(e.path, here / std::to_string(i));
        }
    });
}

TEST_P(FileWatch, WhatDoesNotExistCannotBeWatched) {
    const temp_folder here;
    rt().run([&] {
        fs::watcher w;
        std::error_code ec;
        w.add(here / "none", ec);
        EXPECT_EQ(ec, std::errc::no_such_file_or_directory);
        EXPECT_THROW(w.add(here / "none"), std::system_error);
        EXPECT_FALSE(w.remove(here / "none"));
    });
}

}  // namespace
}  // namespace weft::test
