// file_lock_test.cc: locks on files, and what ends the wait for one.

#include <atomic>
#include <chrono>
#include <mutex>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include <weft/fs/lock.h>
#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/scale.h"
#include "support/temp_folder.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using FileLock = procs_test;
WEFT_SWEEP_OVER(FileLock, 1U, 4U);

fs::file opened(const std::string& path) { return fs::file(path, {.mode = fs::access::read_write, .create = true}); }

TEST_P(FileLock, ExcludesOthersThatHaveOpenedTheFile) {
    const temp_folder here;
    rt().run([&] {
        fs::file one = opened(here / "f");
        fs::file two = opened(here / "f");
        fs::file_lock mine(one);
        EXPECT_TRUE(mine);
        EXPECT_FALSE(fs::file_lock(two, fs::lock_mode::exclusive, std::try_to_lock));
        EXPECT_FALSE(fs::file_lock(two, fs::lock_mode::shared, std::try_to_lock));
        mine.unlock();
        mine.unlock();
        EXPECT_FALSE(mine.owns_lock());
        const fs::file_lock a(one, fs::lock_mode::shared);
        const fs::file_lock b(two, fs::lock_mode::shared, std::try_to_lock);
        EXPECT_TRUE(b);
        fs::file three = opened(here / "f");
        EXPECT_FALSE(fs::file_lock(three, fs::lock_mode::exclusive, std::try_to_lock));
    });
}

TEST_P(FileLock, OnlyOneIsInside) {
    const temp_folder here;
    std::atomic<int> inside = 0;
    std::atomic<int> intruders = 0;
    rt().run([&] {
        wait_group all;
        for (int g = 0; g < 4; ++g) {
            all.go([&] {
                fs::file f = opened(here / "f");
                for (int i = 0; i < scaled(10); ++i) {
                    const fs::file_lock hold(f);
                    if (++inside != 1) ++intruders;
                    yield();
                    --inside;
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(intruders, 0);
}

TEST_P(FileLock, TheWaitEndsWithADeadlineACancellationOrTheFile) {
    const temp_folder here;
    rt().run([&] {
        fs::file one = opened(here / "f");
        fs::file two = opened(here / "f");
        const fs::file_lock held(one);
        EXPECT_THROW(with_timeout(5ms, [&] { fs::file_lock(two, fs::lock_mode::exclusive); }), timed_out);
        std::error_code ec;
        with_timeout(5ms, [&] { EXPECT_FALSE(fs::file_lock(two, fs::lock_mode::shared, ec)); });
        EXPECT_EQ(ec, errc::timed_out);
        std::stop_source stop;
        wait_group waiter;
        waiter.go([&] {
            EXPECT_THROW(with_stop_token(stop.get_token(), [&] { fs::file_lock(two, fs::lock_mode::shared); }),
                         cancelled);
        });
        sleep_for(2ms);
        stop.request_stop();
        waiter.wait();
        waiter.go([&] {
            std::error_code closed;
            EXPECT_FALSE(fs::file_lock(two, fs::lock_mode::exclusive, closed));
            EXPECT_EQ(closed, errc::closed);
        });
        sleep_for(2ms);
        two.close();
        waiter.wait();
    });
}

TEST_P(FileLock, EndsWithItsObjectAndWithTheFile) {
    const temp_folder here;
    rt().run([&] {
        fs::file two = opened(here / "f");
        {
            fs::file one = opened(here / "f");
            fs::file_lock a(one);
            fs::file_lock b = std::move(a);
            EXPECT_FALSE(a.owns_lock());  // NOLINT(bugprone-use-after-move): what it says
            EXPECT_TRUE(b.owns_lock());
            one.close();
            const fs::file_lock c(two, fs::lock_mode::exclusive, std::try_to_lock);
            EXPECT_TRUE(c);
            b.unlock();
        }
        EXPECT_TRUE(fs::file_lock(two, fs::lock_mode::exclusive, std::try_to_lock));
        EXPECT_THROW(
            [] {
                fs::file none;
                const fs::file_lock l(none);
            }(),
            std::system_error);
    });
}

}  // namespace
}  // namespace weft::test
