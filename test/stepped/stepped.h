// stepped.h: runs a program with OS threads in chosen orders, as compiled code.
//
// Problem: a fault in the protocols of idle threads, of stealing, of retaking a P or of the poller
// needs an order of a few instructions that real threads take once in a million runs. A model finds
// it, but in a copy of the protocol.
//
// Here the whole runtime is compiled with another template in place of std::atomic, whose every
// operation is a step, before which another thread may go on (stepped_atomic.h). Only one of the
// threads runs at a time, the one that has the turn; the others wait for it. The calls of the C
// library that block, start a thread or read the time are replaced (calls.cc), so it is known what
// each thread waits for. The time is virtual: a step takes 20 ns, and when all threads wait, it
// advances to the first deadline. Without a deadline the program would wait for ever, and the
// schedule fails.
//
// Rejected:
// - Ms as coroutines on one thread: thread_local belongs to the OS thread, and the runtime uses it.
// - Choosing by a debugger or ptrace: a million times slower.
// - Weak memory: that is what the models are for (test/model). Here all operations are sequentially
//   consistent.
//
// Each schedule is a process of its own, made by fork() before a runtime exists, so a seed gives
// the same schedule whatever ran before. Signals, files and plain mutexes are not controlled: a
// program that waits for them in the system stops with a message after a minute.
//
// Threads: explore() only from a thread of a process that has no other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace stepped {

struct options {
    unsigned schedules = 300;
    // More means that the program does not end.
    uint64_t most_steps = 3'000'000;
    int64_t most_ns = 100'000'000'000;
    // How many waits of 1000 end without a reason, as futexes may.
    unsigned spurious = 5;
};

struct result {
    uint64_t failing_seed = 0;  // 0: none
    unsigned schedules = 0;
    uint64_t steps = 0;  // of all schedules
    std::string report;  // of the failing one
};

// Runs body in schedules with the seeds 1, 2, 3, … until one fails: by a check of GoogleTest, an
// uncaught exception, a signal, or because it does not end. WEFT_STEPPED_SEED=N runs only that one,
// WEFT_STEPPED_SCHEDULES=N that many.
[[nodiscard]] result explore(const options& how, const std::function<void()>& body);
[[nodiscard]] result explore(const std::function<void()>& body);

// ---- In a schedule.

// The virtual time.
[[nodiscard]] int64_t now_ns() noexcept;

// The caller computes for that long, without a step on the way.
void compute(int64_t ns) noexcept;

// A number below n that the seed decides.
[[nodiscard]] unsigned choose(unsigned n) noexcept;

// An OS thread beside those of the runtime. Joins in the destructor.
class thread {
public:
    explicit thread(std::function<void()> body);
    ~thread();
    thread(const thread&) = delete;
    thread& operator=(const thread&) = delete;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace stepped
