// parked.cc: a program that gdb_commands.py stops in stop_here(), while its green threads wait in
// known functions. With an argument it aborts there.
//
// Run it with RUN_DEBUG=lockowners=1. It is compiled without optimization, so that gdb finds every
// variable. A comment such as <serve> at the end of a line is its name in expected.txt.
//
//      workers      are one group; they receive from `requests`
//      left, right  each holds a mutex and waits for that of the other: a cycle
//      reader       waits for the future of a green thread that receives from `gate`
//      joiner       waits for a wait group with one task, which receives from `gate`
//      scoper       waits for a scope with one child, which receives from `gate`
//      sleeper      sleeps
//      later        has not run
#include <chrono>
#include <cstdlib>

#include <weft/weft.h>

using namespace std::chrono_literals;

extern "C" [[gnu::noinline]] void stop_here() { asm volatile(""); }  // <here>

namespace {

int serve(const weft::chan<int>& requests, int base) {
    int sum = base;
    for (const int request : requests) sum += request;  // <serve>
    return sum;
}

void rest() { weft::sleep_for(1h); }  // <rest>

void lock_both(weft::mutex& first, weft::mutex& second) {
    first.lock();
    weft::yield();  // the other one locks its first
    second.lock();  // <lock>
}

int read(weft::future<int>& answer) { return answer.get(); }  // <read>

void join(weft::wait_group& tasks) { tasks.wait(); }  // <join>

void open_scope(const weft::chan<int>& gate) {
    weft::scope([&](weft::task_scope& s) { s.go([&] { serve(gate, 3); }); });  // <scope>
}

void run(bool fails) {
    const weft::chan<int> requests;
    const weft::chan<int> gate;
    const auto nil = weft::chan<int>::nil();
    if (nil == gate) std::abort();
    const weft::chan<long> numbers(4);
    numbers.send(17);
    numbers.send(4);
    static_cast<void>(numbers.recv());
    numbers.send(1);
    weft::mutex one;
    weft::mutex two;
    weft::mutex unused;
    weft::shared_mutex shared;
    shared.lock_shared();
    weft::wait_group tasks;
    weft::timer stopped(1h);
    static_cast<void>(stopped.stop());
    const weft::timer none;
    weft::ticker metronome(2h);
    weft::future<int> done = weft::async([] { return 42; });
    done.wait();
    for (int i = 0; i < 2; ++i) {
        weft::go({.name = "worker", .labels = {{"pool", "blue"}}}, [requests, i] { serve(requests, i); });  // <worker>
    }
    weft::go({.name = "left"}, [&] { lock_both(one, two); });                   // <left>
    weft::go({.name = "right"}, [&] { lock_both(two, one); });                  // <right>
    weft::future<int> answer = weft::async([gate] { return serve(gate, 7); });  // <answer>
    weft::go({.name = "reader"}, [&] { read(answer); });                        // <reader>
    tasks.go([gate] { serve(gate, 5); });                                       // <task>
    weft::go({.name = "joiner"}, [&] { join(tasks); });                         // <joiner>
    weft::go({.name = "scoper"}, [&] { open_scope(gate); });                    // <scoper>
    weft::go({.name = "sleeper"}, [] { rest(); });                              // <sleeper>
    constexpr unsigned waiting = 11;
    while (weft::stats().waiting < waiting) weft::yield();
    weft::go({.name = "later"}, [] {});  // <later>
    if (fails) std::abort();             // <abort>
    stop_here();                         // <stop>
    std::exit(0);                        // the others wait for ever
}

}  // namespace

int main(int argc, char** /*argv*/) {
    return weft::main({.procs = 1}, [argc] { run(argc > 1); });  // <main>
}
