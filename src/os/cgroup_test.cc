// cgroup_test.cc: the tightest quota of made-up control groups.
#include "os/cgroup.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "os/os.h"

namespace weft::detail::os {
namespace {

namespace fs = std::filesystem;

class Cgroup : public ::testing::Test {
protected:
    Cgroup() {
        std::string pattern = fs::temp_directory_path() / "cgroup_test.XXXXXX";
        root_ = ::mkdtemp(pattern.data());
        fs::create_directories(mount());
    }

    ~Cgroup() override { fs::remove_all(root_); }

    [[nodiscard]] fs::path mount() const { return root_ / "mount"; }

    void put(const fs::path& where, std::string_view text) const {
        const fs::path path = mount() / where;
        fs::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }

    void put_v1(const fs::path& group, std::string_view quota, std::string_view period) const {
        put(group / "cpu.cfs_quota_us", quota);
        put(group / "cpu.cfs_period_us", period);
    }

    [[nodiscard]] double quota(std::string_view membership) const {
        const fs::path file = root_ / "membership";
        std::ofstream(file) << membership;
        return cgroup_cpu_quota(file.c_str(), mount().c_str());
    }

private:
    fs::path root_;
};

TEST_F(Cgroup, WithoutAMembershipFileThereIsNoQuota) {
    EXPECT_EQ(cgroup_cpu_quota((mount() / "nothing").c_str(), mount().c_str()), 0);
}

TEST_F(Cgroup, AnEmptyMembershipHasNoQuota) { EXPECT_EQ(quota(""), 0); }

TEST_F(Cgroup, Version2QuotaIsInCpus) {
    put("a/b/cpu.max", "150000 100000\n");
    EXPECT_DOUBLE_EQ(quota("0::/a/b\n"), 1.5);
}

TEST_F(Cgroup, Version2WithoutALimitSaysMax) {
    put("a/cpu.max", "max 100000\n");
    EXPECT_EQ(quota("0::/a\n"), 0);
}

TEST_F(Cgroup, TheTightestAncestorCounts) {
    put("a/b/c/cpu.max", "800000 100000\n");
    put("a/b/cpu.max", "max 100000\n");
    put("a/cpu.max", "300000 100000\n");
    put("cpu.max", "1600000 100000\n");
    EXPECT_DOUBLE_EQ(quota("0::/a/b/c\n"), 3);
}

TEST_F(Cgroup, TheLeafCountsWhenItIsTheTightest) {
    put("a/b/cpu.max", "50000 100000\n");
    put("a/cpu.max", "200000 100000\n");
    EXPECT_DOUBLE_EQ(quota("0::/a/b\n"), 0.5);
}

// As inside a container with a namespace of its own.
TEST_F(Cgroup, TheRootItselfMayHaveTheQuota) {
    put("cpu.max", "200000 100000\n");
    EXPECT_DOUBLE_EQ(quota("0::/\n"), 2);
}

TEST_F(Cgroup, AGroupThatCannotBeReadDoesNotHideItsAncestors) {
    put("a/cpu.max", "400000 100000\n");
    EXPECT_DOUBLE_EQ(quota("0::/a/gone/too\n"), 4);
}

TEST_F(Cgroup, AFolderOutsideTheMountIsNotRead) {
    put("../cpu.max", "100000 100000\n");
    put("a/cpu.max", "max 100000\n");
    EXPECT_EQ(quota("0::/a\n"), 0);
}

TEST_F(Cgroup, Version1QuotaIsReadFromTheCpuHierarchy) {
    put_v1("cpu/docker/x", "250000\n", "100000\n");
    put_v1("cpu/docker", "-1\n", "100000\n");
    EXPECT_DOUBLE_EQ(quota("4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n"), 2.5);
}

TEST_F(Cgroup, Version1WithoutALimitSaysMinusOne) {
    put_v1("cpu/x", "-1\n", "100000\n");
    EXPECT_EQ(quota("3:cpuacct,cpu:/x\n"), 0);
}

TEST_F(Cgroup, Version1TightestAncestorCounts) {
    put_v1("cpu/a/b", "800000\n", "100000\n");
    put_v1("cpu/a", "200000\n", "50000\n");
    EXPECT_DOUBLE_EQ(quota("2:cpu:/a/b\n"), 4);
}

TEST_F(Cgroup, OtherControllersThatBeginWithCpuAreIgnored) {
    put_v1("cpu/a", "100000\n", "100000\n");
    EXPECT_EQ(quota("2:cpuset:/a\n3:cpuacct:/a\n"), 0);
    EXPECT_DOUBLE_EQ(quota("2:cpuset,cpu:/a\n"), 1);
}

TEST_F(Cgroup, WithBothVersionsTheTighterQuotaCounts) {
    put("a/cpu.max", "600000 100000\n");
    put_v1("cpu/a", "500000\n", "100000\n");
    EXPECT_DOUBLE_EQ(quota("1:cpu,cpuacct:/a\n0::/a\n"), 5);
}

TEST_F(Cgroup, JunkCountsAsNoQuota) {
    put("a/cpu.max", "many few\n");
    EXPECT_EQ(quota("0::/a\n"), 0);
    put("a/cpu.max", "100000 0\n");
    EXPECT_EQ(quota("0::/a\n"), 0);
    put("a/cpu.max", "-5 100000\n");
    EXPECT_EQ(quota("0::/a\n"), 0);
    put("a/cpu.max", "");
    EXPECT_EQ(quota("0::/a\n"), 0);
    put("a/cpu.max", "100000");
    EXPECT_EQ(quota("no colon here\n0:one only\n\n0::/a\n"), 0);
}

TEST_F(Cgroup, AnOverlongPathCountsAsNoQuota) {
    put("cpu.max", "100000 100000\n");
    EXPECT_EQ(quota("0::/" + std::string(8000, 'a') + "\n"), 0);
}

TEST(Cpus, ThereIsAtLeastOne) { EXPECT_GE(usable_cpus(), 1U); }

}  // namespace
}  // namespace weft::detail::os
