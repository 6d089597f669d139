// process_options_linux_test.cc: programs with further descriptors, limits, and other rights.

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include <weft/fs.h>
#include <weft/process.h>
#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/temp_folder.h"

namespace weft::test {
namespace {

std::vector<std::string> shell(const std::string& script) { return {"sh", "-c", script}; }

class ProcessOptions : public procs_test {
protected:
    // What stays for the life of the process: see process_test.cc.
    static void SetUpTestSuite() { EXPECT_EQ(run_process(shell("echo x")).out, "x\n"); }
};

WEFT_SWEEP_OVER(ProcessOptions, 1U, 4U);

TEST_P(ProcessOptions, PassedDescriptorsHaveTheirNumbers) {
    const temp_folder here;
    rt().run([&] {
        fs::write_file(here / "in", "text");
        const fs::file in(here / "in");
        const fs::file out(here / "out", {.mode = fs::access::write, .create = true});
        const process_output r =
            run_process(shell("cat <&9; echo written >&5; test -e /proc/self/fd/6 && echo six"), {nullptr, 0},
                        {.descriptors = {{in.native_handle(), 9}, {out.native_handle(), 5}}});
        EXPECT_EQ(r.out, "text");
        EXPECT_EQ(fs::read_file(here / "out"), "written\n");
    });
}

TEST_P(ProcessOptions, PassedDescriptorsMayTakeEachOthersNumbers) {
    const temp_folder here;
    rt().run([&] {
        fs::write_file(here / "a", "a");
        fs::write_file(here / "b", "b");
        const fs::file a(here / "a");
        const fs::file b(here / "b");
        const int na = a.native_handle();
        const int nb = b.native_handle();
        const std::string script = "cat /proc/self/fd/" + std::to_string(na) + " /proc/self/fd/" + std::to_string(nb);
        EXPECT_EQ(run_process(shell(script), {nullptr, 0}, {.descriptors = {{na, nb}, {nb, na}}}).out, "ba");
        EXPECT_EQ(run_process(shell(script), {nullptr, 0}, {.descriptors = {{na, na}, {na, nb}}}).out, "aa");
        // Standard descriptors, too.
        fs::write_file(here / "c", "");
        const fs::file c(here / "c", {.mode = fs::access::write});
        process p(shell("cat <&7"), {.in = stdio::null, .out = stdio::pipe, .descriptors = {{na, 7}}});
        char text[2];
        EXPECT_EQ(p.out().read(text), 1U);
        EXPECT_TRUE(p.wait().ok());
    });
}

TEST_P(ProcessOptions, NiceAndLimitsAreThoseOfTheProgram) {
    rt().run([] {
        EXPECT_EQ(run_process({"nice"}, {nullptr, 0}, {.nice = 13}).out, "13\n");
        const process_output r = run_process(
            shell("ulimit -Sn; ulimit -Hn; ulimit -c; ulimit -f"), {nullptr, 0},
            {.limits = {
                 {resource::open_files, 40, 50}, {resource::core_size, 0, 0}, {resource::file_size, 512 * 1024}}});
        EXPECT_EQ(r.out, "40\n50\n0\n1024\n");
        const process_output ended =
            run_process(shell("while :; do :; done"), {nullptr, 0}, {.limits = {{resource::cpu_time, 1, 1}}});
        EXPECT_NE(ended.status.signal, 0);
    });
}

TEST_P(ProcessOptions, TheProgramHasTheRightsOfAnotherUser) {
    rt().run([] {
        const program_user other{.user = 65534, .group = 65533, .further_groups = {65531, 65532}};
        std::error_code ec;
        process p(shell("id -u; id -g; id -G"), {.out = stdio::pipe, .user = other}, ec);
        if (::geteuid() != 0) {
            EXPECT_EQ(ec, std::errc::operation_not_permitted);
            return;
        }
        ASSERT_FALSE(ec) << ec.message();
        std::string text(100, ' ');
        text.resize(p.out().read(text));
        EXPECT_EQ(text, "65534\n65533\n65533 65531 65532\n");
        EXPECT_TRUE(p.wait().ok());
        EXPECT_EQ(::geteuid(), 0U) << "this process has its own user";
        EXPECT_EQ(::prctl(PR_GET_DUMPABLE), 1);
    });
}

TEST_P(ProcessOptions, TheDirectoryIsEnteredWithTheRightsOfTheProgram) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can start programs of another user";
    const temp_folder here;
    rt().run([&] {
        fs::mkdir(here / "closed", 0700);
        std::error_code ec;
        const process p({"true"}, {.directory = here / "closed", .user = program_user{.user = 65534, .group = 65534}},
                        ec);
        EXPECT_EQ(ec, std::errc::permission_denied);
    });
}

// Returns the text of the exception.
std::string mistake(const process_options& options, std::errc expected = std::errc::invalid_argument) {
    try {
        const process p({"true"}, options);
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), expected) << e.what();
        return e.what();
    }
    return "";
}

TEST_P(ProcessOptions, MistakesAreNamed) {
    rt().run([] {
        const auto says = [](const std::string& text, const char* words) {
            EXPECT_NE(text.find(words), std::string::npos) << text;
        };
        says(mistake({.descriptors = {{1, 2}}}), "from 3 on");
        says(mistake({.descriptors = {{-1, 5}}}), "must be open");
        says(mistake({.descriptors = {{0, 5}, {1, 5}}}), "same number");
        says(mistake({.nice = 20}), "from -20 to 19");
        says(mistake({.limits = {{resource::open_files, 5, 4}}}), "above its hard limit");
        says(mistake({.descriptors = {{10'000, 5}}}, std::errc::bad_file_descriptor), "one is not open");
    });
}

}  // namespace
}  // namespace weft::test
