// fail_option_test.cc: RUN_DEBUG=fail=CALL:N:ERROR makes that call of a program fail.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <system_error>

#include <weft/fs.h>
#include <weft/net/tcp.h>
#include <weft/weft.h>

#include "death/death.h"
#include "support/environment.h"
#include "support/temp_folder.h"

namespace weft::test {
namespace {

class FailOption : public DeathTest {};

// Ends the process with 0 if exactly that one of three calls fails, and with that error.
[[noreturn]] void expect_failure(const std::string& option, int which, int error, const std::function<void()>& call) {
    change_environment("RUN_DEBUG", option.c_str());
    runtime rt;
    bool right = true;
    rt.run([&] {
        for (int i = 1; i <= 3; ++i) {
            int got = 0;
            try {
                call();
            } catch (const std::system_error& e) {
                got = e.code().value();
            }
            const int expected = i == which || which == 0 ? error : 0;
            if (got != expected) std::fprintf(stderr, "call %d: %d instead of %d\n", i, got, expected);
            right = right && got == expected;
        }
    });
    std::exit(right ? 0 : 1);
}

constexpr int each = 0;
constexpr int none = -1;

TEST_F(FailOption, TheNthCallFailsWithTheError) {
    EXPECT_EXIT(
        expect_failure("fail=socket:2:EMFILE", 2, EMFILE, [] { net::tcp_listener one(net::endpoint("127.0.0.1:0")); }),
        ::testing::ExitedWithCode(0), "");
}

TEST_F(FailOption, EveryCallFails) {
    EXPECT_EXIT(expect_failure("fail=bind:every:EACCES", each, EACCES,
                               [] { net::tcp_listener one(net::endpoint("127.0.0.1:0")); }),
                ::testing::ExitedWithCode(0), "");
}

TEST_F(FailOption, SeveralRulesCountEachTheirOwnCalls) {
    EXPECT_EXIT(expect_failure("fail=socket:1:EMFILE,fail=listen:2:EADDRINUSE,random=7", 1, EMFILE,
                               [] {
                                   try {
                                       net::tcp_listener one(net::endpoint("127.0.0.1:0"));
                                   } catch (const std::system_error& e) {
                                       if (e.code().value() != EADDRINUSE) throw;
                                       std::fprintf(stderr, "and listen\n");
                                   }
                               }),
                ::testing::ExitedWithCode(0), "and listen");
}

TEST_F(FailOption, AcceptWaitsUntilThereAreDescriptors) {
    EXPECT_EXIT(expect_failure("fail=accept4:2:EMFILE", none, EMFILE,
                               [] {
                                   net::tcp_listener at(net::endpoint("127.0.0.1:0"));
                                   const net::tcp_stream to = net::tcp_stream::connect(at.local_endpoint());
                                   static_cast<void>(at.accept());
                               }),
                ::testing::ExitedWithCode(0), "cannot accept a connection until resources are free");
}

TEST_F(FailOption, FilesFail) {
    const temp_folder folder;
    const std::string file = folder / "file";
    EXPECT_EXIT(expect_failure("fail=openat:3:ENFILE", 3, ENFILE, [&] { fs::write_file(file, "x"); }),
                ::testing::ExitedWithCode(0), "");
    EXPECT_EXIT(expect_failure("fail=pwrite:1:ENOSPC", 1, ENOSPC, [&] { fs::write_file(file, "x"); }),
                ::testing::ExitedWithCode(0), "");
}

TEST_F(FailOption, NoMemoryForStacks) {
    EXPECT_EXIT(
        {
            change_environment("RUN_DEBUG", "fail=mmap:every:ENOMEM");
            try {
                runtime rt;
            } catch (const resource_exhausted&) {
                std::exit(0);
            }
            std::exit(1);
        },
        ::testing::ExitedWithCode(0), "");
}

TEST_F(FailOption, AnUnknownNameIsReportedAndIgnored) {
    EXPECT_EXIT(expect_failure("fail=sockets:1:EMFILE", none, EMFILE, [] {}), ::testing::ExitedWithCode(0),
                "\"fail=sockets:1:EMFILE\" is ignored: docs/system_calls.md lists the calls");
}

}  // namespace
}  // namespace weft::test
