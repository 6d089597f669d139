// calls.h: calls that block the OS thread: the price of declaring one, and which tasks it delays.
//
// C is 1 for a declared call (Runtime::blocking), 0 for a plain one. Runtimes without that
// distinction, because they see no calls or declare every call, do the same for both.
#pragma once

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <vector>

#include "measurement.h"
#include "samples.h"
#include "work.h"

namespace bench {

// Blocks the OS thread. The kernel wakes it on time; by default it may be 50 us late.
inline void block_thread(int64_t ns) {
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    timespec left{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
    const int64_t begin = now_ns();
    while (syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &left, &left) != 0) {
        check(errno == EINTR, "block_thread: only signals interrupt it");
    }
    check(now_ns() - begin >= ns, "block_thread: not shorter than asked for");
}

template <typename Runtime>
void make_call(bool declared, int64_t ns) {
    if (declared) {
        Runtime::blocking([ns] { block_thread(ns); });
    } else {
        block_thread(ns);
    }
}

// The shortest system call, plain and declared, N times each, in alternating batches. guard_ns is
// their median difference, so a slow moment counts once.
template <typename Runtime>
measurement run_call_guard(const run_arguments& arguments) {
    constexpr int64_t batch = 1000;
    const int64_t batches = 1 + arguments.n / batch;
    const int64_t parent = syscall(SYS_getppid);
    const auto time_batch = [&](auto call) {
        int64_t sum = 0;
        const int64_t begin = now_ns();
        for (int64_t i = 0; i < batch; ++i) sum += call();
        const int64_t elapsed = now_ns() - begin;
        check(sum == batch * parent, "call_guard: every call answered");
        return elapsed;
    };
    samples raw(batches);
    samples guard(batches);
    for (int64_t i = 0; i < batches; ++i) {
        const int64_t raw_ns = time_batch([] { return syscall(SYS_getppid); });
        const int64_t declared_ns = time_batch([] { return Runtime::blocking([] { return syscall(SYS_getppid); }); });
        raw.add(raw_ns);
        guard.add(declared_ns - raw_ns);
    }

    measurement result;
    result.add_per_op("guard_ns", guard.percentile(0.5), batch);
    result.add_per_op("raw_ns", raw.percentile(0.5), batch);
    return result;
}

// N times: a task makes another runnable, then blocks its thread for K us. both_…: until the call
// has returned and the other has run; other_…: until the other has run.
template <typename Runtime>
measurement run_call_wait(const run_arguments& arguments) {
    const int64_t call_ns = arguments.k * 1000;
    const bool declared = arguments.cap != 0;
    samples other(arguments.n);
    samples both(arguments.n);
    auto call = Runtime::template make_buffered<int64_t>(2);
    auto answer = Runtime::template make_buffered<int64_t>(2);
    typename Runtime::wait_group done;
    done.add(1);
    Runtime::go([&] {
        int64_t sent = 0;
        while (call.recv(sent)) answer.send(now_ns() - sent);
        done.done();
    });
    for (int64_t i = 0; i < arguments.n; ++i) {
        int64_t waited = 0;
        const int64_t begin = now_ns();
        call.send(begin);
        make_call<Runtime>(declared, call_ns);
        check(answer.recv(waited), "call_wait: an answer to every call");
        both.add(now_ns() - begin);
        other.add(waited);
    }
    call.close();
    done.wait();

    measurement result;
    both.report(result, "us", 1e3);
    result.add("other_p50_us", static_cast<double>(other.percentile(0.5)) / 1e3);
    result.add("other_p99_us", static_cast<double>(other.percentile(0.99)) / 1e3);
    return result;
}

// A task works in pieces of 1 us and yields after each: 100 ms alone, 100 ms beside a task that
// keeps blocking its thread for K us. N times, alternating. slowdown: how much longer a piece takes
// beside it, as the median.
template <typename Runtime>
measurement run_call_count(const run_arguments& arguments) {
    constexpr int64_t phase_ns = 100'000'000;
    const int64_t call_ns = arguments.k * 1000;
    const bool declared = arguments.cap != 0;
    const piece_of_work piece(1000);
    const auto ns_per_piece = [&] {
        int64_t pieces = 0;
        const int64_t begin = now_ns();
        for (; now_ns() - begin < phase_ns; ++pieces) {
            piece.run();
            Runtime::yield();
        }
        return static_cast<double>(now_ns() - begin) / static_cast<double>(pieces);
    };

    ns_per_piece();
    const int64_t threads_before = threads();
    int64_t most_threads = 0;
    samples slowdown(arguments.n);  // parts per million
    samples took(arguments.n * (phase_ns / call_ns + 2));
    for (int64_t round = 0; round < arguments.n; ++round) {
        const double alone = ns_per_piece();
        std::atomic<bool> stop{false};
        typename Runtime::wait_group done;
        done.add(1);
        const int64_t end = now_ns() + phase_ns;  // for runtimes in which the call delays the task that would stop it
        Runtime::go([&, end] {
            while (!stop.load() && now_ns() < end) {
                const int64_t begin = now_ns();
                make_call<Runtime>(declared, call_ns);
                took.add(now_ns() - begin);
            }
            done.done();
        });
        const double beside = ns_per_piece();
        most_threads = std::max(most_threads, threads());
        stop.store(true);
        done.wait();
        slowdown.add(static_cast<int64_t>(beside / alone * 1e6));
    }
    check(took.count() >= arguments.n, "call_count: calls were made");

    measurement result;
    result.add("slowdown", static_cast<double>(slowdown.percentile(0.5)) / 1e6);
    result.add("calls_per_s", static_cast<double>(took.count() * 1'000'000'000 / (arguments.n * phase_ns)));
    result.add("call_p50_us", static_cast<double>(took.percentile(0.5)) / 1e3);
    result.add("new_threads", static_cast<double>(most_threads - threads_before));
    return result;
}

// K tasks block their threads for 10 ms each, beside one that computes for a third of a second, or
// until they are done. N rounds.
template <typename Runtime>
measurement run_call_crowd(const run_arguments& arguments) {
    constexpr int64_t call_ns = 10'000'000;
    constexpr int64_t compute_ns = 330'000'000;
    const bool declared = arguments.cap != 0;
    const piece_of_work piece(2000);
    samples until_all(arguments.n);
    int64_t most_threads = 0;
    for (int64_t round = 0; round < arguments.n; ++round) {
        std::atomic<int64_t> left{arguments.k};
        std::atomic<int64_t> pieces{0};
        int64_t end = 0;
        typename Runtime::wait_group done;
        done.add(arguments.k + 1);
        const int64_t begin = now_ns();
        Runtime::go([&, begin] {
            int64_t mine = 0;
            for (; left.load() > 0 && now_ns() - begin < compute_ns; ++mine) piece.run();
            pieces.store(mine);
            done.done();
        });
        for (int64_t i = 0; i < arguments.k; ++i) {
            Runtime::go([&] {
                make_call<Runtime>(declared, call_ns);
                if (left.fetch_sub(1) == 1) end = now_ns();
                done.done();
            });
        }
        done.wait();
        check(left.load() == 0, "call_crowd: every call was made");
        check(pieces.load() > 0, "call_crowd: there was computing beside them");
        until_all.add(end - begin);
        most_threads = std::max(most_threads, threads());
    }

    measurement result;
    until_all.report(result, "ms", 1e6);
    result.add("threads", static_cast<double>(most_threads));
    return result;
}

}  // namespace bench
