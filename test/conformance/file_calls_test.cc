// file_calls_test.cc: each call on files and directories, and the errors it reports.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/fs.h>
#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/temp_folder.h"

namespace weft::test {
namespace {

using fs::access;
using fs::file;

class FileCalls : public procs_test {
protected:
    // Returns the text of the exception that f throws. Fails the test if f throws none, which
    // returns "", or one with another code.
    template <typename F>
    static std::string failure_of(std::errc expected, F&& f) {
        try {
            f();
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), expected) << e.what();
            return e.what();
        }
        ADD_FAILURE() << "nothing was thrown";
        return "";
    }

    static ::testing::AssertionResult says(const std::string& text, std::string_view words) {
        if (text.find(words) != std::string::npos) return ::testing::AssertionSuccess();
        return ::testing::AssertionFailure() << '"' << text << "\" lacks \"" << words << '"';
    }

    temp_folder folder_;
};

WEFT_SWEEP_OVER(FileCalls, 1U, 4U);

TEST_P(FileCalls, AMissingFileIsAnError) {
    rt().run([&] {
        const std::string path = folder_ / "none";
        const std::string text = failure_of(std::errc::no_such_file_or_directory, [&] { const file f(path); });
        EXPECT_TRUE(says(text, "weft: open \"" + path + "\" (check the path"));
        std::error_code ec;
        const file f(path, {}, ec);
        EXPECT_EQ(ec, std::errc::no_such_file_or_directory);
        EXPECT_FALSE(f.is_open());
        EXPECT_EQ(f.native_handle(), -1);
    });
}

TEST_P(FileCalls, ContradictoryOptionsAreAnError) {
    rt().run([&] {
        const std::string path = folder_ / "x";
        const auto refused = [&](const fs::open_options& how, std::string_view words) {
            const std::string text = failure_of(std::errc::invalid_argument, [&] { const file f(path, how); });
            EXPECT_TRUE(says(text, words));
            std::error_code ec;
            const file f(path, how, ec);
            EXPECT_EQ(ec, std::errc::invalid_argument);
        };
        refused({.mode = access::write, .exclusive = true}, "exclusive needs create");
        refused({.truncate = true}, "truncate needs access::write");
        refused({.append = true}, "append needs access::write");
        refused({.mode = access::write, .create = true, .permissions = 0100644}, "at most 12 bits");
        const std::string zero("a\0b", 3);
        EXPECT_TRUE(says(failure_of(std::errc::invalid_argument, [&] { const file f(zero); }), "zero byte"));
        EXPECT_FALSE(fs::exists(path));
    });
}

TEST_P(FileCalls, OpenFollowsItsOptions) {
    rt().run([&] {
        const std::string path = folder_ / "x";
        const ::mode_t umask_before = ::umask(022);
        file made(path, {.mode = access::write, .create = true, .exclusive = true, .permissions = 0640});
        ::umask(umask_before);
        EXPECT_EQ(made.stat().permissions, 0640U);
        EXPECT_NE(::fcntl(made.native_handle(), F_GETFD) & FD_CLOEXEC, 0);
        failure_of(std::errc::file_exists,
                   [&] { const file f(path, {.mode = access::write, .create = true, .exclusive = true}); });
        made.write_all("12345");
        file more(path, {.mode = access::write, .append = true});
        more.write_all("6");
        more.pwrite("7", 0);  // appends all the same
        EXPECT_EQ(fs::read_file(path), "1234567");
        file synced(path, {.mode = access::read_write, .data_sync = true});
        synced.pwrite("x", 0);
        EXPECT_EQ(fs::read_file(path), "x234567");
        file emptied(path, {.mode = access::write, .truncate = true});
        EXPECT_EQ(emptied.size(), 0U);
    });
}

TEST_P(FileCalls, ErrorsNameTheFile) {
    rt().run([&] {
        const std::string path = folder_ / "x";
        fs::write_file(path, "text");
        file in(path);
        file out(path, {.mode = access::write});
        char b[4];
        const std::string text = failure_of(std::errc::bad_file_descriptor, [&] { in.write_all("x"); });
        EXPECT_TRUE(says(text, "weft: write_all \"" + path +
                                   "\" (the file is not open for this operation: see open_options::mode)"));
        failure_of(std::errc::bad_file_descriptor, [&] { static_cast<void>(out.read(b)); });
        failure_of(std::errc::invalid_argument, [&] { static_cast<void>(in.pread(b, -1)); });
        failure_of(std::errc::invalid_argument, [&] { out.pwrite("x", -1); });
        failure_of(std::errc::invalid_argument, [&] { in.seek(-1); });
        failure_of(std::errc::invalid_argument, [&] { in.truncate(0); });
        failure_of(std::errc::file_too_large, [&] { out.truncate(UINT64_MAX); });
        failure_of(std::errc::is_a_directory, [&] { const file f(folder_.path(), {.mode = access::write}); });
        file folder(folder_.path());
        failure_of(std::errc::is_a_directory, [&] { static_cast<void>(folder.read_some(b)); });
        EXPECT_TRUE(
            says(failure_of(std::errc::is_a_directory, [&] { static_cast<void>(fs::read_file(folder_.path())); }),
                 "read_file \"" + folder_.path()));
    });
}

TEST_P(FileCalls, AClosedFileFailsEveryCall) {
    rt().run([&] {
        file f(folder_ / "x", {.mode = access::read_write, .create = true});
        f.close();
        char b[4];
        std::error_code ec;
        EXPECT_EQ(f.read(b, ec), 0U);
        EXPECT_EQ(ec, errc::closed);
        f.write_all("x", ec);
        EXPECT_EQ(ec, errc::closed);
        f.sync(ec);
        EXPECT_EQ(ec, errc::closed);
        static_cast<void>(f.stat(ec));
        EXPECT_EQ(ec, errc::closed);
        EXPECT_EQ(f.seek(0, fs::seek_from::begin, ec), -1);
        EXPECT_EQ(ec, errc::closed);
        EXPECT_EQ(f.release(), -1);
        try {
            static_cast<void>(file().size());
            ADD_FAILURE();
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), errc::closed);
        }
    });
}

TEST_P(FileCalls, MoveReleaseAndAdoptTransferTheDescriptor) {
    rt().run([&] {
        file f(folder_ / "x", {.mode = access::read_write, .create = true});
        file g = std::move(f);
        EXPECT_FALSE(f.is_open());  // NOLINT(bugprone-use-after-move): it is closed, which is what is tested
        g.write_all("text");
        const int fd = g.release();
        ASSERT_GE(fd, 0);
        EXPECT_FALSE(g.is_open());
        file h = file::adopt(fd, "the same");
        EXPECT_EQ(h.path(), "the same");
        EXPECT_EQ(h.size(), 4U);
        h = file(folder_ / "y", {.mode = access::write, .create = true});
        EXPECT_EQ(::fcntl(fd, F_GETFD) == -1 || h.native_handle() == fd, true);
    });
}

TEST_P(FileCalls, WholeFilesAreReadAndWritten) {
    rt().run([&] {
        const std::string path = folder_ / "x";
        fs::write_file(path, "");
        EXPECT_EQ(fs::read_file(path), "");
        for (const std::size_t size : {1U, 4095U, 4096U, 4097U, 100'000U, 3'000'000U}) {
            const std::string text(size, 'q');
            fs::write_file(path, text);
            EXPECT_EQ(fs::read_file(path), text);
        }
        EXPECT_EQ(fs::read_file("/proc/self/cmdline").empty(), false);  // its size is reported as 0
        EXPECT_EQ(fs::read_file("/dev/null"), "");
        std::error_code ec;
        EXPECT_EQ(fs::read_file(folder_ / "none", ec), "");
        EXPECT_EQ(ec, std::errc::no_such_file_or_directory);
        fs::write_file(folder_ / "no/folder", "x", ec);
        EXPECT_EQ(ec, std::errc::no_such_file_or_directory);
        failure_of(std::errc::no_such_file_or_directory, [&] { fs::write_file(folder_ / "no/folder", "x"); });
    });
}

TEST_P(FileCalls, StatReportsTheAttributes) {
    rt().run([&] {
        const std::string path = folder_ / "x";
        const std::string link = folder_ / "link";
        fs::write_file(path, "12345");
        ASSERT_EQ(::symlink("x", link.c_str()), 0);
        const fs::file_info info = fs::stat(path);
        EXPECT_EQ(info.type, fs::file_type::regular);
        EXPECT_EQ(info.size, 5U);
        EXPECT_EQ(info.links, 1U);
        EXPECT_EQ(info.user, ::getuid());
        EXPECT_LT(std::chrono::system_clock::now() - info.modified, std::chrono::hours(1));
        EXPECT_EQ(fs::stat(link).inode, info.inode);
        EXPECT_EQ(fs::lstat(link).type, fs::file_type::symlink);
        EXPECT_EQ(fs::stat(folder_.path()).type, fs::file_type::directory);
        EXPECT_EQ(fs::stat("/dev/null").type, fs::file_type::character_device);
        EXPECT_EQ(file(path).stat().inode, info.inode);
        EXPECT_TRUE(fs::exists(path));
        EXPECT_FALSE(fs::exists(folder_ / "none"));
        EXPECT_FALSE(fs::exists(path + "/below a file"));
        failure_of(std::errc::filename_too_long, [&] { static_cast<void>(fs::exists(std::string(5000, 'x'))); });
        failure_of(std::errc::no_such_file_or_directory, [&] { static_cast<void>(fs::stat(folder_ / "none")); });
        failure_of(std::errc::no_such_file_or_directory, [&] { static_cast<void>(fs::lstat(folder_ / "none")); });
    });
}

TEST_P(FileCalls, DirectoriesAreCreatedListedAndRemoved) {
    rt().run([&] {
        const std::string inner = folder_ / "inner";
        fs::mkdir(inner);
        failure_of(std::errc::file_exists, [&] { fs::mkdir(inner); });
        std::vector<std::string> expected;
        for (int i = 0; i < 1000; ++i) {
            expected.push_back("a file with a name of some length " + std::to_string(i));
            fs::write_file(inner + '/' + expected.back(), "");
        }
        std::vector<std::string> names;
        for (const fs::directory_entry& e : fs::read_directory(inner)) {
            names.push_back(e.name);
            EXPECT_TRUE(e.type == fs::file_type::regular || e.type == fs::file_type::unknown);
        }
        std::sort(names.begin(), names.end());
        std::sort(expected.begin(), expected.end());
        EXPECT_EQ(names, expected);
        failure_of(std::errc::directory_not_empty, [&] { fs::rmdir(inner); });
        fs::rename(inner + '/' + names[0], folder_ / "moved");
        EXPECT_TRUE(fs::exists(folder_ / "moved"));
        for (std::size_t i = 1; i < names.size(); ++i) fs::unlink(inner + '/' + names[i]);
        EXPECT_TRUE(fs::read_directory(inner).empty());
        fs::rmdir(inner);
        EXPECT_FALSE(fs::exists(inner));
        const std::string text =
            failure_of(std::errc::no_such_file_or_directory, [&] { fs::rename(inner, folder_ / "other"); });
        EXPECT_TRUE(says(text, "rename to \"" + (folder_ / "other") + "\" from \"" + inner));
        failure_of(std::errc::no_such_file_or_directory, [&] { fs::unlink(inner); });
        failure_of(std::errc::no_such_file_or_directory, [&] { fs::rmdir(inner); });
        failure_of(std::errc::not_a_directory, [&] { static_cast<void>(fs::read_directory(folder_ / "moved")); });
        std::error_code ec;
        EXPECT_TRUE(fs::read_directory(inner, ec).empty());
        EXPECT_EQ(ec, std::errc::no_such_file_or_directory);
    });
}

// A std::filesystem::path names a file, too.
TEST_P(FileCalls, StandardPathsAreAccepted) {
    const std::filesystem::path path = std::filesystem::path(folder_.path()) / "x";
    rt().run([&] {
        fs::write_file(path, "text");
        EXPECT_EQ(file(path).size(), 4U);
    });
}

}  // namespace
}  // namespace weft::test
