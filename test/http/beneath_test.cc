// beneath_test.cc: the way without openat2 opens what the kernel opens, and refuses what it
// refuses.

#include "http/beneath.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/fs.h>
#include <weft/weft.h>

#include "support/random.h"
#include "support/scale.h"
#include "support/temp_folder.h"

namespace weft::test {
namespace {

using http::detail::open_beneath;
using http::detail::open_step_by_step;

// What opening has given: an error, or which file it is. Closes it.
struct found {
    int error = 0;
    dev_t device = 0;
    ino_t inode = 0;

    explicit found(int fd) {
        if (fd < 0) {
            error = -fd;
            return;
        }
        struct stat s{};
        EXPECT_EQ(::fstat(fd, &s), 0);
        device = s.st_dev;
        inode = s.st_ino;
        EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
        ::close(fd);
    }

    friend bool operator==(const found&, const found&) = default;
};

class Beneath : public ::testing::Test {
protected:
    Beneath() : root_(folder_ / "root"), fd_((fs::mkdir(root_), http::detail::open_folder(root_))) {
        fs::write_file(folder_ / "secret", "secret");
    }

    ~Beneath() override { ::close(fd_); }

    void link(const std::string& to, const std::string& name) {
        ASSERT_EQ(::symlink(to.c_str(), (root_ + "/" + name).c_str()), 0) << name;
    }

    // By both ways, which must agree.
    found open(const std::string& path, bool follows = true) {
        const found one(open_step_by_step(fd_, path, follows));
        const found other(open_beneath(fd_, path, follows));
        EXPECT_EQ(one, other) << path << ": " << one.error << " and " << other.error;
        return one;
    }

    const temp_folder folder_;
    const std::string root_;
    const int fd_;
};

TEST_F(Beneath, LinksAreFollowedIfTheyStayInTheFolder) {
    fs::mkdir(root_ + "/sub");
    fs::mkdir(root_ + "/sub/deep");
    fs::write_file(root_ + "/sub/deep/file", "text");
    link("sub/deep/file", "to_file");
    link("sub", "to_sub");
    link("../../to_sub/deep", "sub/deep/up");
    link("./sub//deep/", "to_deep");
    link("to_file", "to_link");
    const found file = open("sub/deep/file");
    EXPECT_EQ(file.error, 0);
    for (const char* path :
         {"to_file", "to_sub/deep/file", "sub/deep/up/file", "to_deep/file", "to_link", "to_deep/up/up/up/file"}) {
        EXPECT_EQ(open(path), file) << path;
        EXPECT_EQ(open(path, false).error, ELOOP) << path;
    }
    EXPECT_EQ(open("sub/deep/file", false), file);
    EXPECT_EQ(open("").error, 0);
    EXPECT_EQ(open("to_sub").error, 0);
}

TEST_F(Beneath, NothingOutsideIsOpened) {
    fs::mkdir(root_ + "/sub");
    link("../secret", "out");
    link("..", "up");
    link(folder_ / "secret", "absolute");
    link(root_, "absolute_root");
    link("../..", "sub/far");
    link("sub/../../root/sub", "out_and_back");
    for (const char* path :
         {"out", "up/secret", "up", "absolute", "absolute_root/sub", "sub/far/secret", "out_and_back"})
        EXPECT_EQ(open(path).error, EXDEV) << path;
    link("circle", "circle");
    link("second", "first");
    link("first", "second");
    EXPECT_EQ(open("circle").error, ELOOP);
    EXPECT_EQ(open("first/x").error, ELOOP);
    link("nowhere", "dangling");
    EXPECT_EQ(open("dangling").error, ENOENT);
    EXPECT_EQ(open("nothing/x").error, ENOENT);
    fs::write_file(root_ + "/file", "text");
    EXPECT_EQ(open("file/x").error, ENOTDIR);
    EXPECT_EQ(open(std::string(300, 'n')).error, ENAMETOOLONG);
}

// Folders, files and links at random, of which many lead out or nowhere.
TEST_F(Beneath, BothWaysAgreeInRandomTrees) {
    prng dice(announced_seed());
    const auto pick = [&](const std::vector<std::string>& from) { return from[dice.next() % from.size()]; };
    std::vector<std::string> folders = {""};
    std::vector<std::string> names;
    const std::vector<std::string> parts = {"a", "b", "c", "..", ".", "a/", "b//c", "../a", "../../b"};
    for (int i = 0; i < scaled(60); ++i) {
        const std::string at = pick(folders) + pick({"a", "b", "c", "d"});
        switch (dice.below(3)) {
            case 0: {
                std::error_code ec;
                fs::mkdir(root_ + "/" + at, 0777, ec);
                if (!ec) folders.push_back(at + "/");
                break;
            }
            case 1: {
                std::error_code ec;
                fs::write_file(root_ + "/" + at, at, ec);
                break;
            }
            default: {
                std::string to = pick(parts);
                for (int more = dice.below(3); more != 0; --more) to += "/" + pick(parts);
                static_cast<void>(::symlink(to.c_str(), (root_ + "/" + at).c_str()));
            }
        }
    }
    for (int i = 0; i < scaled(2000); ++i) {
        std::string path = pick({"a", "b", "c", "d"});
        for (int more = dice.below(4); more != 0; --more) path += "/" + pick({"a", "b", "c", "d"});
        open(path, !dice.one_in(4));
    }
}

// A folder on the way must be searchable; it need not be readable. Without privileges: root may do
// all.
TEST_F(Beneath, FoldersOnTheWayNeedOnlyBeSearchable) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    fs::mkdir(root_ + "/search");
    fs::write_file(root_ + "/search/file", "text");
    fs::mkdir(root_ + "/read");
    fs::mkdir(root_ + "/open");
    link("search/file", "link");
    ASSERT_EQ(::chmod((root_ + "/search").c_str(), 0711), 0);
    ASSERT_EQ(::chmod((root_ + "/read").c_str(), 0744), 0);
    std::thread([&] {
        // Of this thread alone: the C library would change all.
        ASSERT_EQ(::syscall(SYS_setresuid, -1, 65534, -1), 0);
        EXPECT_EQ(open("search/file").error, 0);
        EXPECT_EQ(open("link").error, 0);
        EXPECT_EQ(open("search").error, EACCES);
        EXPECT_EQ(open("read").error, 0);
        EXPECT_EQ(open("read/../open").error, EACCES);
        EXPECT_EQ(open("read/./../open").error, EACCES);
        EXPECT_EQ(open("search/../open").error, 0);
    }).join();
}

}  // namespace
}  // namespace weft::test
