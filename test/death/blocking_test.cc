// blocking_test.cc: calls that are forbidden inside weft::blocking, where the caller counts as a
// plain thread.

#include <stdexcept>

#include <weft/blocking.h>
#include <weft/weft.h>

#include "death/death.h"

namespace weft::test {
namespace {

class BlockingMisuse : public DeathTest {};

// Runs f inside a blocking call of a green thread called culprit.
template <typename F>
void in_a_call(F f) {
    runtime rt({.procs = 1});
    rt.go({.name = "culprit"}, [&] { blocking(f); });
    rt.drain();
}

void throw_it() { throw std::runtime_error("not out of here"); }

void throw_through_noexcept() noexcept { throw_it(); }

TEST_F(BlockingMisuse, Yielding) {
    const std::string message = fatal_line(
        "weft::yield() was called inside weft::blocking(), where the OS thread belongs to the call; yield after the "
        "call");
    const std::string where = "weft: in a blocking call of green thread %d \"culprit\" (started by %s)";
    EXPECT_ABORT(in_a_call([] { weft::yield(); }), message, where);
    EXPECT_ABORT(in_a_call([] { blocking([] { weft::yield(); }); }), message, where);
    EXPECT_ABORT(in_a_call([] { blocking(hand_off::at_once, [] { weft::yield(); }); }), message, where);
    EXPECT_ABORT(in_a_call([] {
                     blocking_pool pool("p", 1);
                     pool.run([] { weft::yield(); });
                 }),
                 message, where);
}

TEST_F(BlockingMisuse, UsingALocal) {
    const std::string message = fatal_line(
        "weft::local was used inside weft::blocking(), where the OS thread belongs to the call; take a reference "
        "before the call");
    const std::string where = "weft: in a blocking call of green thread %d \"culprit\" (started by %s)";
    EXPECT_ABORT(in_a_call([] {
                     const local<int> x;
                     static_cast<void>(*x);
                 }),
                 message, where);
    EXPECT_ABORT(in_a_call([] {
                     const local<int> x;
                     x.reset();
                 }),
                 message, where);
}

// Other misuse there is also reported as that of the green thread.
TEST_F(BlockingMisuse, UnlockingAnUnlockedMutex) {
    EXPECT_ABORT(in_a_call([] {
                     mutex m;
                     m.unlock();
                 }),
                 fatal_line("unlock of an unlocked weft::mutex; pair lock and unlock with std::lock_guard"),
                 "weft: in a blocking call of green thread %d \"culprit\" (started by %s)", "    #0  %s");
}

TEST_F(BlockingMisuse, StoppingItsOwnRuntime) {
    EXPECT_ABORT(
        {
            runtime rt({.procs = 1});
            rt.run([&] { blocking([&] { rt.abandon(); }); });
        },
        fatal_line("weft::runtime::shutdown() or abandon() was called by a green thread of that runtime, which would "
                   "wait for itself; call it from a plain thread"));
    EXPECT_ABORT(
        {
            runtime rt({.procs = 1});
            rt.run([&] { blocking([&] { rt.drain(); }); });
        },
        fatal_line("weft::runtime::drain() was called by a green thread of that runtime, which would wait for itself; "
                   "use a weft::wait_group"));
}

TEST_F(BlockingMisuse, CallingMain) {
    EXPECT_ABORT(in_a_call([] { weft::main([] {}); }),
                 fatal_line("weft::main() was called from a green thread; call the function directly"));
}

// The exception travels out of the call, and then leaves the green thread.
TEST_F(BlockingMisuse, LeavingTheGreenThreadByAnException) {
    EXPECT_ABORT(in_a_call([] { throw std::runtime_error("too late"); }),
                 "weft: fatal: an exception of type std::runtime_error (too late) left green thread %d \"culprit\" %s");
}

TEST_F(BlockingMisuse, LeavingANoexceptFunctionByAnException) {
    EXPECT_ABORT(
        in_a_call([] { throw_through_noexcept(); }),
        "weft: fatal: an exception of type std::runtime_error (not out of here) left %sgreen thread %d \"culprit\" %s");
}

}  // namespace
}  // namespace weft::test
