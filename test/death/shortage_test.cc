// shortage_test.cc: a server without file descriptors for connections reports that with one line in
// the life of a process.

#include <sys/syscall.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <weft/weft.h>

#include "death/death.h"
#include "support/build.h"
#include "support/connections.h"
#include "support/eventually.h"
#include "support/failing_calls.h"
#include "support/no_more_files.h"

namespace weft::test {
namespace {

class ShortageDeath : public DeathTest {};

// Connections come, through both kinds of streams, while there is no descriptor; then descriptors
// are freed. Returns 0 if all were accepted.
int accept_without_descriptors() {
    runtime rt({.procs = 2});
    int accepted = 0;
    over_streams([&](auto over) {
        auto listener = over.listen();
        std::vector<typename decltype(over)::stream> clients;
        rt.run([&] {
            clients.push_back(over.connect(listener));
            static_cast<void>(listener.accept());
            for (int i = 0; i < 3; ++i) clients.push_back(over.connect(listener));
        });
        {
            const no_more_files limit;
            const uint64_t parks = rt.stats().parks;
            rt.go([&] {
                for (int i = 0; i < 3; ++i) {
                    static_cast<void>(listener.accept());
                    ++accepted;
                }
            });
            eventually([&] { return rt.stats().parks >= parks + 4; });
        }
        rt.drain();
    });
    return accepted == 6 ? 0 : 1;
}

TEST_F(ShortageDeath, IsReportedOnce) {
    EXPECT_EXIT(std::_Exit(accept_without_descriptors()), ::testing::ExitedWithCode(0),
                ::testing::MatchesRegex("weft: cannot accept a connection until resources are free: this process has "
                                        "no file descriptor left; close some, or raise the limit: ulimit -n\n"));
}

// The system-wide limit, which a test cannot reach: the call fails with it for ever.
int accept_from_a_full_system() {
    fail_from_now_on(SYS_accept4, ENFILE);
    runtime rt({.procs = 2});
    std::error_code ec;
    over_streams([&](auto over) {
        auto listener = over.listen();
        typename decltype(over)::stream client;
        rt.run([&] { client = over.connect(listener); });
        const uint64_t parks = rt.stats().parks;
        rt.go([&] { static_cast<void>(listener.accept(ec)); });
        eventually([&] { return rt.stats().parks >= parks + 3; });
        listener.close();
        rt.drain();
    });
    return ec == errc::closed ? 0 : 1;
}

TEST_F(ShortageDeath, ASystemWideShortageIsReportedOnce) {
    if (emulated) GTEST_SKIP() << "the emulator has no filters";
    EXPECT_EXIT(std::_Exit(accept_from_a_full_system()), ::testing::ExitedWithCode(0),
                ::testing::MatchesRegex("weft: cannot accept a connection until resources are free: the system has no "
                                        "file descriptor left; raise fs.file-max\n"));
}

}  // namespace
}  // namespace weft::test
