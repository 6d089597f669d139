// file_links_test.cc: links, modes and times.

#include <sys/stat.h>

#include <chrono>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

#include <weft/fs.h>
#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/temp_folder.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using FileLinks = procs_test;
WEFT_SWEEP_OVER(FileLinks, 1U, 4U);

TEST_P(FileLinks, ASymbolicLinkLeadsToItsTarget) {
    const temp_folder here;
    rt().run([&] {
        fs::write_file(here / "file", "text");
        fs::symlink("file", here / "near");
        fs::symlink(here / "missing", here / "lost");
        EXPECT_EQ(fs::read_file(here / "near"), "text");
        EXPECT_EQ(fs::readlink(here / "near"), "file");
        EXPECT_EQ(fs::lstat(here / "near").type, fs::file_type::symlink);
        EXPECT_EQ(fs::readlink(here / "lost"), here / "missing");
        EXPECT_FALSE(fs::exists(here / "lost"));
        const std::string deep(2000, 'x');
        fs::symlink(deep, here / "long");
        EXPECT_EQ(fs::readlink(here / "long"), deep);
    });
}

TEST_P(FileLinks, AHardLinkIsAnotherNameOfTheFile) {
    const temp_folder here;
    rt().run([&] {
        fs::write_file(here / "one", "text");
        fs::link(here / "one", here / "two");
        EXPECT_EQ(fs::stat(here / "one").inode, fs::stat(here / "two").inode);
        EXPECT_EQ(fs::stat(here / "one").links, 2U);
        fs::unlink(here / "one");
        EXPECT_EQ(fs::read_file(here / "two"), "text");
    });
}

TEST_P(FileLinks, ModesAndTimesAreSet) {
    const temp_folder here;
    rt().run([&] {
        fs::write_file(here / "file", "text");
        fs::chmod(here / "file", 0640);
        EXPECT_EQ(fs::stat(here / "file").permissions, 0640U);
        const auto when = std::chrono::system_clock::time_point(std::chrono::seconds(1'000'000'000) + 500ms);
        fs::set_times(here / "file", {.modified = when});
        EXPECT_EQ(fs::stat(here / "file").modified, when);
        const auto before_1970 = std::chrono::system_clock::time_point(-1500ms);
        fs::set_times(here / "file", {.accessed = when, .modified = before_1970});
        EXPECT_EQ(fs::stat(here / "file").modified, before_1970);
        fs::set_times(here / "file", {});
        EXPECT_EQ(fs::stat(here / "file").modified, before_1970);
    });
}

TEST_P(FileLinks, ErrorsNameTheFile) {
    const temp_folder here;
    rt().run([&] {
        std::error_code ec;
        fs::symlink("x", here / "a/b", ec);
        EXPECT_EQ(ec, std::errc::no_such_file_or_directory);
        static_cast<void>(fs::readlink(here / "none", ec));
        EXPECT_EQ(ec, std::errc::no_such_file_or_directory);
        fs::write_file(here / "file", "text");
        static_cast<void>(fs::readlink(here / "file", ec));
        EXPECT_EQ(ec, std::errc::invalid_argument) << "it is no link";
        fs::link(here / "file", here / "file", ec);
        EXPECT_EQ(ec, std::errc::file_exists);
        fs::chmod(here / "file", 010000, ec);
        EXPECT_EQ(ec, std::errc::invalid_argument);
        fs::chmod(std::string("a\0b", 3), 0600, ec);
        EXPECT_EQ(ec, std::errc::invalid_argument);
        fs::symlink(std::string("a\0b", 3), here / "c", ec);
        EXPECT_EQ(ec, std::errc::invalid_argument);
        std::string text;
        try {
            fs::symlink("target", here / "file");
        } catch (const std::system_error& e) {
            text = e.what();
        }
        EXPECT_NE(text.find("symlink to \"target\" at \"" + (here / "file") + '"'), std::string::npos) << text;
    });
}

}  // namespace
}  // namespace weft::test
