// pin_test.cc: misuse of weft::pin.

#include <memory>
#include <thread>

#include <weft/weft.h>

#include "death/death.h"

namespace weft::test {
namespace {

class PinMisuse : public DeathTest {};

const char* const message =
    "a weft::pin was destroyed by a green thread that it does not pin; destroy it in the one that made it";

TEST_F(PinMisuse, DestroyingAPinOfAnotherGreenThread) {
    EXPECT_ABORT(
        {
            runtime rt({.procs = 2});
            rt.run([] {
                auto here = std::make_unique<pin>();
                wait_group one;
                one.go({.name = "culprit"}, [&] { here.reset(); });
                one.wait();
            });
        },
        fatal_line(message), "weft: in green thread %d \"culprit\" %s");
}

TEST_F(PinMisuse, DestroyingAPinOfAnotherGreenThreadWhilePinned) {
    EXPECT_ABORT(
        {
            runtime rt({.procs = 2});
            rt.run([] {
                auto theirs = std::make_unique<pin>();
                wait_group one;
                one.go({.name = "culprit"}, [&] {
                    const pin mine;
                    theirs.reset();
                });
                one.wait();
            });
        },
        fatal_line(message), "weft: in green thread %d \"culprit\" %s");
}

TEST_F(PinMisuse, DestroyingAPinInAPlainThread) {
    EXPECT_ABORT(
        {
            runtime rt({.procs = 1});
            rt.run([] {
                auto here = std::make_unique<pin>();
                std::thread([&] { here.reset(); }).join();
            });
        },
        fatal_line(message), "weft: in a plain thread (tid %d)");
}

}  // namespace
}  // namespace weft::test
