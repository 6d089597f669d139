// local_test.cc: misuse of weft::local.

#include <thread>

#include <weft/weft.h>

#include "death/death.h"

namespace weft::test {
namespace {

class LocalMisuse : public DeathTest {};

TEST_F(LocalMisuse, UsingItInAPlainThread) {
    const std::string message = fatal_line(
        "weft::local was used in a plain thread, but only green threads have its values; use thread_local there");
    const auto use = [] {
        const local<int> x;
        static_cast<void>(*x);
    };
    EXPECT_ABORT(use(), message);
    EXPECT_ABORT(
        {
            const runtime rt({.procs = 1});
            std::thread(use).join();
        },
        message, "weft: in a plain thread (tid %d)");
    EXPECT_ABORT(
        {
            const local<int> x;
            static_cast<void>(x.has_value());
        },
        message);
    EXPECT_ABORT(
        {
            const local<int> x;
            x.reset();
        },
        message);
}

TEST_F(LocalMisuse, UsingItInItsOwnInitialValue) {
    EXPECT_ABORT(
        {
            runtime rt({.procs = 1});
            rt.run([] {
                static const local<int>* self = nullptr;
                const local<int> x([] { return **self + 1; });
                self = &x;
                static_cast<void>(*x);
            });
        },
        fatal_line("the initial value of a weft::local uses the same weft::local; remove the recursion"),
        "weft: in green thread %d \"run\" %s");
}

}  // namespace
}  // namespace weft::test
