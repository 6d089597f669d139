// deprecated_names_test.cc: the names of the version before still do what they did.
#include <chrono>
#include <optional>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include <weft/weft.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

TEST(DeprecatedNames, CasesOfSelect) {
    runtime rt({.procs = 2});
    rt.run([] {
        chan<std::string> c(1);
        chan<long> d(2);
        const send_chan<std::string> to = c;
        const recv_chan<std::string> from = c;
        EXPECT_EQ(weft::select(weft::send(c, "converted"), weft::timeout(1h)).index(), 0U);
        EXPECT_EQ(std::get<0>(weft::select(weft::recv(c))), "converted");
        EXPECT_EQ(weft::select(weft::send(to, std::string("whole"))).index(), 0U);
        EXPECT_EQ(std::get<0>(weft::select(weft::recv(from), weft::cancellation())), "whole");
        const int narrow = 41;
        EXPECT_EQ(weft::select(weft::send(d, narrow)).index(), 0U);
        EXPECT_EQ(weft::select(weft::send(d, 42)).index(), 0U);
        EXPECT_EQ(d.recv(), 41);
        EXPECT_EQ(d.recv(), 42);
        event e;
        e.set();
        EXPECT_EQ(weft::select(weft::ready(e), weft::otherwise()).index(), 0U);
    });
}

TEST(DeprecatedNames, StatusAndStop) {
    runtime rt({.procs = 1});
    EXPECT_TRUE(rt.run([] { return chan<int>().recv_for(1us).status == chan_status::timeout; }));
    rt.go([] { chan<int>().recv(); });
    EXPECT_EQ(rt.stop(1s).abandoned, 0U);
    EXPECT_EQ(rt.stop(), 0U);
}

}  // namespace
}  // namespace weft::test
