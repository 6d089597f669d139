// file_tree_test.cc: trees of directories, copies, temporary files and directories.

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <set>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/fs/temporary.h>
#include <weft/fs/tree.h>
#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/temp_folder.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using FileTree = procs_test;
WEFT_SWEEP_OVER(FileTree, 1U, 4U);

TEST_P(FileTree, MakesWhatIsMissingAbove) {
    const temp_folder here;
    rt().run([&] {
        EXPECT_TRUE(fs::create_directories(here / "a/b/c"));
        EXPECT_FALSE(fs::create_directories(here / "a/b/c"));
        EXPECT_TRUE(fs::create_directories(here / "a/d//e/"));
        EXPECT_EQ(fs::stat(here / "a/d/e").type, fs::file_type::directory);
        std::error_code ec;
        fs::write_file(here / "file", "");
        EXPECT_FALSE(fs::create_directories(here / "file", 0777, ec));
        EXPECT_EQ(ec, std::errc::file_exists);
        EXPECT_FALSE(fs::create_directories(here / "file/below", 0777, ec));
        EXPECT_EQ(ec, std::errc::not_a_directory);
        EXPECT_FALSE(fs::create_directories("", 0777, ec));
        EXPECT_EQ(ec, std::errc::no_such_file_or_directory);
    });
}

TEST_P(FileTree, RemovesATreeAndCountsWhatWasThere) {
    const temp_folder here;
    rt().run([&] {
        fs::create_directories(here / "t/a/b");
        fs::create_directories(here / "t/empty");
        for (int i = 0; i < 300; ++i) fs::write_file(here / ("t/a/" + std::to_string(i)), "x");
        fs::write_file(here / "outside", "stays");
        fs::create_directories(here / "other/inside");
        fs::symlink(here / "other", here / "t/link");
        fs::symlink("nowhere", here / "t/a/lost");
        EXPECT_EQ(fs::remove_all(here / "t"), 306U);
        EXPECT_FALSE(fs::exists(here / "t"));
        EXPECT_TRUE(fs::exists(here / "other/inside")) << "links are not followed";
        EXPECT_EQ(fs::remove_all(here / "t"), 0U);
        EXPECT_EQ(fs::remove_all(here / "outside"), 1U);
        std::error_code ec;
        EXPECT_EQ(fs::remove_all(here / "other/inside/x", ec), 0U);
        EXPECT_FALSE(ec);
    });
}

TEST_P(FileTree, RemovalEndsWithACancellation) {
    const temp_folder here;
    rt().run([&] {
        fs::create_directories(here / "t/a");
        std::stop_source stop;
        stop.request_stop();
        EXPECT_THROW(with_stop_token(stop.get_token(), [&] { fs::remove_all(here / "t"); }), cancelled);
        EXPECT_TRUE(fs::exists(here / "t/a"));
        std::error_code ec;
        with_stop_token(stop.get_token(), [&] { fs::remove_all(here / "t", ec); });
        EXPECT_EQ(ec, errc::cancelled);
    });
}

std::string relative(const std::string& path, const std::string& to) { return path.substr(to.size() + 1); }

TEST_P(FileTree, WalksThroughAllThatIsThere) {
    const temp_folder here;
    rt().run([&] {
        fs::create_directories(here / "a/b");
        fs::create_directories(here / "c");
        for (const char* name : {"1", "a/2", "a/b/3", "c/4"}) fs::write_file(here / name, "");
        fs::symlink("a", here / "link");
        std::set<std::string> found;
        std::string before;
        for (const fs::walk_entry& e : fs::walk(here.path())) {
            const std::string path = relative(e.path, here.path());
            EXPECT_TRUE(found.insert(path).second) << path;
            EXPECT_EQ(e.depth, static_cast<std::size_t>(std::count(path.begin(), path.end(), '/')));
            if (path == "a/b/3") {
                EXPECT_TRUE(found.contains("a/b")) << "a directory comes before its entries";
            }
        }
        EXPECT_EQ(found, (std::set<std::string>{"1", "a", "a/2", "a/b", "a/b/3", "c", "c/4", "link"}));

        found.clear();
        fs::tree_walk some = fs::walk(here.path());
        while (const auto e = some.next()) {
            found.insert(relative(e->path, here.path()));
            if (e->path.ends_with("/a")) some.skip();
        }
        EXPECT_EQ(found, (std::set<std::string>{"1", "a", "c", "c/4", "link"}));

        found.clear();
        for (const fs::walk_entry& e : fs::walk(here.path(), {.depth_max = 0}))
            found.insert(relative(e.path, here.path()));
        EXPECT_EQ(found, (std::set<std::string>{"1", "a", "c", "link"}));
    });
}

TEST_P(FileTree, AWalkContinuesBehindAnError) {
    const temp_folder here;
    rt().run([&] {
        std::error_code ec;
        fs::tree_walk nowhere = fs::walk(here / "none");
        EXPECT_EQ(nowhere.next(ec), std::nullopt);
        EXPECT_EQ(ec, std::errc::no_such_file_or_directory);
        EXPECT_THROW(static_cast<void>(fs::walk(here / "none").begin()), std::system_error);

        fs::create_directories(here / "a");
        fs::create_directories(here / "b");
        fs::tree_walk w = fs::walk(here.path());
        const auto first = w.next(ec);
        ASSERT_TRUE(first.has_value());
        fs::rmdir(first->path);
        fs::write_file(first->path, "");  // a file now
        EXPECT_EQ(w.next(ec), std::nullopt);
        EXPECT_EQ(ec, std::errc::not_a_directory);
        EXPECT_TRUE(w.next(ec).has_value());
        EXPECT_EQ(w.next(ec), std::nullopt);
        EXPECT_FALSE(ec);
    });
}

TEST_P(FileTree, CopiesContentAndPermissions) {
    const temp_folder here;
    rt().run([&] {
        std::string large(5'000'000, '\0');
        for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 31 + i / 4096);
        fs::write_file(here / "from", large);
        fs::chmod(here / "from", 0700);
        EXPECT_EQ(fs::copy_file(here / "from", here / "to"), large.size());
        EXPECT_EQ(fs::read_file(here / "to"), large);
        EXPECT_EQ(fs::stat(here / "to").permissions & 0700, 0700U);

        std::error_code ec;
        fs::copy_file(here / "from", here / "to", {}, ec);
        EXPECT_EQ(ec, std::errc::file_exists);
        fs::write_file(here / "short", "short");
        EXPECT_EQ(fs::copy_file(here / "short", here / "to", {.overwrite = true}), 5U);
        EXPECT_EQ(fs::read_file(here / "to"), "short");
        fs::write_file(here / "empty", "");
        EXPECT_EQ(fs::copy_file(here / "empty", here / "empty2"), 0U);
        EXPECT_TRUE(fs::exists(here / "empty2"));
        // A file without a size, on another file system.
        EXPECT_GT(fs::copy_file("/proc/self/status", here / "status"), 100U);
    });
}

TEST_P(FileTree, ACopyThatFailsLeavesNoFile) {
    const temp_folder here;
    rt().run([&] {
        std::error_code ec;
        fs::copy_file(here / "none", here / "to", {}, ec);
        EXPECT_EQ(ec, std::errc::no_such_file_or_directory);
        fs::copy_file(here.path(), here / "to", {}, ec);
        EXPECT_EQ(ec, std::errc::is_a_directory);
        EXPECT_FALSE(fs::exists(here / "to"));
        fs::write_file(here / "file", "text");
        fs::copy_file(here / "file", here / "file", {.overwrite = true}, ec);
        EXPECT_EQ(ec, std::errc::invalid_argument);
        EXPECT_EQ(fs::read_file(here / "file"), "text");
        std::stop_source stop;
        stop.request_stop();
        EXPECT_THROW(with_stop_token(stop.get_token(), [&] { fs::copy_file(here / "file", here / "to"); }), cancelled);
        EXPECT_FALSE(fs::exists(here / "to"));
    });
}

TEST_P(FileTree, TemporaryDirectoriesRemoveThemselves) {
    const temp_folder here;
    rt().run([&] {
        std::string path;
        {
            const fs::temporary_directory d("test-", here.path());
            path = d.path();
            EXPECT_TRUE(path.starts_with(here / "test-"));
            EXPECT_EQ(fs::stat(path).permissions, 0700U);
            fs::create_directories(d / "a/b");
            fs::write_file(d / "a/file", "text");
        }
        EXPECT_FALSE(fs::exists(path));
        {
            fs::temporary_directory first("test-", here.path());
            const fs::temporary_directory second = std::move(first);
            EXPECT_TRUE(first.path().empty());  // NOLINT(bugprone-use-after-move): what it says
            EXPECT_TRUE(fs::exists(second.path()));
            first = fs::temporary_directory("test-", here.path());
            path = first.keep();
        }
        EXPECT_EQ(fs::read_directory(here.path()).size(), 1U);
        EXPECT_TRUE(fs::exists(path));
        // Also while the caller is cancelled.
        std::stop_source stop;
        stop.request_stop();
        with_stop_token(stop.get_token(), [&] {
            const fs::temporary_directory d("test-", here.path());
            fs::create_directories(d / "a/b");
        });
        EXPECT_EQ(fs::read_directory(here.path()).size(), 1U);
        EXPECT_THROW(fs::temporary_directory("a/b", here.path()), std::system_error);
        EXPECT_THROW(fs::temporary_directory("a", here / "none"), std::system_error);
        EXPECT_TRUE(fs::exists(fs::temporary_directory().path()));
    });
}

TEST_P(FileTree, TemporaryFilesRemoveThemselvesOrAreKept) {
    const temp_folder here;
    rt().run([&] {
        std::string path;
        {
            fs::temporary_file f("test-", here.path());
            path = f.path();
            f.file().write_all("text");
            EXPECT_EQ(fs::read_file(path), "text");
            EXPECT_EQ(fs::stat(path).permissions, 0600U);
        }
        EXPECT_FALSE(fs::exists(path));
        {
            fs::temporary_file f("test-", here.path());
            f.file().write_all("kept");
            std::error_code ec;
            f.keep(here / "none/x", ec);
            EXPECT_EQ(ec, std::errc::no_such_file_or_directory);
            EXPECT_FALSE(f.path().empty());
            f.keep(here / "kept");
            EXPECT_TRUE(f.path().empty());
        }
        EXPECT_EQ(fs::read_file(here / "kept"), "kept");
        EXPECT_EQ(fs::read_directory(here.path()).size(), 1U);
    });
}

}  // namespace
}  // namespace weft::test
