// failing_calls_test.cc: any one system call may fail without ending the process or losing
// anything.
//
// A program that does a bit of everything runs in a child. The first run fails the first call of
// one kind, the second run the second one, and so on while the program makes that many. An
// operation that reports an error is repeated once or twice, since only one call fails, and must
// then succeed.

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <weft/fs.h>
#include <weft/weft.h>

#include "death/death.h"
#include "os/os.h"
#include "support/build.h"
#include "support/connections.h"
#include "support/nth_call.h"
#include "support/opaque.h"
#include "support/temp_folder.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

constexpr int lost = 3;
constexpr int refused_for_ever = 4;
constexpr int tries = 3;
constexpr unsigned positions = 200;
constexpr unsigned each_position = 25;  // from there on every eighth
constexpr auto limit = 60s;

// f() tells whether it got the right result.
template <typename F>
void until_it_works(const char* what, F f) {
    for (int i = 0; i < tries; ++i) {
        try {
            if (f()) return;
            std::fprintf(stderr, "%s: a wrong result\n", what);
            std::_Exit(lost);
        } catch (const std::exception& e) {
            std::fprintf(stderr, "%s: %s\n", what, e.what());
        }
    }
    std::_Exit(refused_for_ever);
}

bool channels_pass_everything() {
    constexpr int senders = 20;
    constexpr int each = 10;
    int sum = 0;
    chan<int> numbers(4);
    scope([&](task_scope& s) {
        for (int i = 0; i < senders; ++i) {
            s.go([&numbers] {
                for (int k = 1; k <= each; ++k) numbers.send(k);
            });
        }
        for (int i = 0; i < senders * each; ++i) sum += *numbers.recv();
    });
    return sum == senders * each * (each + 1) / 2;
}

WEFT_TEST_OPAQUE int deep(int levels) {
    volatile char some[1024];
    some[0] = 1;
    return levels == 0 ? 0 : deep(levels - 1) + some[0];
}

bool stacks_are_deep() {
    constexpr int levels = 100;
    int reached[4] = {};
    scope([&](task_scope& s) {
        for (int& one : reached) s.go([&one] { one = deep(levels); });
    });
    const int on_big = on_big_stack(std::size_t{1} << 20, [] { return deep(500); });
    return reached[0] + reached[1] + reached[2] + reached[3] == 4 * levels && on_big == 500;
}

bool timers_fire() {
    wait_group fired;
    fired.add(1);
    timer later = after_func(1ms, [&fired] { fired.done(); });
    sleep_for(1ms);
    fired.wait();
    return true;
}

bool sockets_echo() {
    bool right = false;
    auto listener = over_tcp::listen();
    scope([&](task_scope& s) {
        s.go([&] {
            auto served = listener.accept();
            char b[1];
            while (served.read(b) == 1) served.write_all(b);
        });
        auto client = over_tcp::connect(listener);
        int echoed = 0;
        for (int i = 0; i < 5; ++i) {
            char b[1];
            client.write_all("x");
            echoed += client.read(b) == 1 && b[0] == 'x' ? 1 : 0;
        }
        right = echoed == 5;
    });
    return right;
}

bool files_keep_their_content() {
    static const temp_folder* const folder = new temp_folder;
    const std::string path = *folder / "content";
    const std::string content(10'000, 'c');
    fs::write_file(path, content);
    return fs::read_file(path) == content;
}

// More threads than may stay idle, so that most of them end soon: the environment sets 1 ms.
bool threads_come_and_go() {
    constexpr int calls = 6;
    int done[calls] = {};
    scope([&](task_scope& s) {
        for (int& one : done)
            s.go([&one] {
                blocking([&one] {
                    ::usleep(2000);
                    one = 1;
                });
            });
    });
    for (int i = 0; i < 20 && stats().threads > 3; ++i) sleep_for(1ms);
    int all = 0;
    for (const int one : done) all += one;
    return all == calls;
}

// Two green threads compute in code that can be interrupted anywhere, on two processors. A third
// has to wait for them.
bool what_computes_gives_way() {
    bool ran = false;
    scope([&](task_scope& s) {
        for (int i = 0; i < 2; ++i) {
            s.go([] {
                const preemptible anywhere;
                const auto until = std::chrono::steady_clock::now() + 15ms;
                while (std::chrono::steady_clock::now() < until) {}
            });
        }
        s.go([&ran] { ran = true; });
    });
    return ran;
}

bool dumps_are_written() {
    fs::file nowhere("/dev/null", {.mode = fs::access::write});
    dump(nowhere.native_handle());
    return true;
}

bool another_runtime_comes_and_goes() {
    int depth = 0;
    runtime other({.procs = 1, .stacks = stack_policy::growing});
    other.run([&] { depth = deep(100); });
    other.abandon();
    return depth == 100;
}

bool everything_works() {
    return weft::main({.procs = 2}, [] {
               until_it_works("channels", &channels_pass_everything);
               until_it_works("stacks", &stacks_are_deep);
               until_it_works("timers", &timers_fire);
               until_it_works("sockets", &sockets_echo);
               until_it_works("files", &files_keep_their_content);
               until_it_works("threads", &threads_come_and_go);
               until_it_works("computing", &what_computes_gives_way);
               until_it_works("dump", &dumps_are_written);
               until_it_works("another runtime", &another_runtime_comes_and_goes);
               return 0;
           }) == 0;
}

int program() {
    ::setenv("RUN_THREAD_IDLE", "1ms", 1);
    until_it_works("weft::main", &everything_works);
    detail::os::unmap_kept_pages();
    if (detail::os::kept_pages_for_test() == 0) return 0;
    std::fprintf(stderr, "%zu bytes stay mapped\n", detail::os::kept_pages_for_test());
    return lost;
}

// The C library aborts if a thread's stack cannot be unmapped. The kernel never refuses that,
// because no other mapping is merged with such a stack.
unsigned size_of_thread_stacks() {
    pthread_attr_t usual;
    std::size_t size = 0;
    std::size_t guard = 0;
    pthread_getattr_default_np(&usual);
    pthread_attr_getstacksize(&usual, &size);
    pthread_attr_getguardsize(&usual, &guard);
    pthread_attr_destroy(&usual);
    return static_cast<unsigned>(size + guard);
}

constexpr unsigned futex_wait_of_weft = 9 | 128;  // FUTEX_WAIT_BITSET_PRIVATE

std::vector<call_kind> kinds() {
    return {
        {"munmap", {SYS_munmap}, ENOMEM, {}, size_of_thread_stacks()},
        {"mprotect", {SYS_mprotect}, ENOMEM},
        {"madvise", {SYS_madvise}, ENOMEM},
        {"mmap", {SYS_mmap}, ENOMEM},
        {"mincore", {SYS_mincore}, EAGAIN},
        {"clone", {SYS_clone, SYS_clone3}, EAGAIN},
        {"membarrier", {SYS_membarrier}, ENOMEM},
        {"rt_tgsigqueueinfo", {SYS_rt_tgsigqueueinfo}, EAGAIN},
        {"prctl", {SYS_prctl}, EPERM},
        {"sched_setattr", {SYS_sched_setattr, SYS_sched_getattr}, EPERM},
        {"sched_setaffinity", {SYS_sched_setaffinity, SYS_sched_getaffinity}, EPERM},
        {"futex", {SYS_futex}, EINTR, futex_wait_of_weft},
        {"clock_nanosleep", {SYS_clock_nanosleep}, EINTR},
        {"epoll_create1", {SYS_epoll_create1}, EMFILE},
        {"epoll_ctl", {SYS_epoll_ctl}, ENOMEM},
        {"epoll_wait",
         {SYS_epoll_pwait, SYS_epoll_pwait2,
#if defined(SYS_epoll_wait)
          SYS_epoll_wait
#endif
         },
         EINTR},
        {"eventfd2", {SYS_eventfd2}, EMFILE},
        {"io_uring_setup", {SYS_io_uring_setup}, ENOMEM},
        {"io_uring_enter", {SYS_io_uring_enter}, EAGAIN},
        {"openat", {SYS_openat}, EMFILE},
        {"read", {SYS_read}, EIO},
        {"socket", {SYS_socket}, EMFILE},
        {"accept4", {SYS_accept4}, EMFILE},
        {"recvfrom", {SYS_recvfrom}, ENOMEM},
        {"sendto", {SYS_sendto}, ENOBUFS},
    };
}

// How a run failed; empty if it did not.
std::string complaint(const supervised& run) {
    if (!run.in_time) return "does not end";
    if (WIFSIGNALED(run.status)) return "is ended by signal " + std::to_string(WTERMSIG(run.status));
    if (WEXITSTATUS(run.status) == lost) return "loses something";
    if (WEXITSTATUS(run.status) == refused_for_ever) return "reports errors although the call would succeed";
    return WEXITSTATUS(run.status) == 0 ? "" : "ends with status " + std::to_string(WEXITSTATUS(run.status));
}

class FailingCalls : public ::testing::TestWithParam<call_kind> {};

TEST_P(FailingCalls, OneFailedCallLosesNothing) {
    if (built_with_sanitizer || emulated) GTEST_SKIP() << "the sanitizer's own calls, or the emulator's, would fail";
    unsigned calls = 1;
    for (unsigned n = 1; n <= positions && n <= calls; n += n < each_position ? 1 : 8) {
        const supervised run = run_with_failing_call(GetParam(), n, &program, limit);
        if (!run.supported) GTEST_SKIP() << "this system forbids filters of system calls (seccomp)";
        const std::string bad = complaint(run);
        EXPECT_EQ(bad, "") << "call " << n << " of " << GetParam().name << " fails, and the program says:\n"
                           << run.said;
        calls = run.calls;
    }
}

INSTANTIATE_TEST_SUITE_P(, FailingCalls, ::testing::ValuesIn(kinds()), [](const auto& p) {
    return std::string(p.param.name);
});

// ---- The limit itself. Threads end while the process has as many mappings as it may have. The
// alternate signal stacks of some were merged with their neighbours, so that unmapping one takes
// one mapping more.

// Makes mappings, no two of which can be merged, until the system refuses. Returns false if it
// never does.
bool use_up_mappings() {
    constexpr std::size_t at_once = 8192;
    constexpr int times_max = 256;
    const std::size_t page = detail::os::page_size();
    bool full = false;
    for (int i = 0; i < times_max && !full; ++i) {
        void* all = ::mmap(nullptr, at_once * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        full = all == MAP_FAILED;
        for (std::size_t k = 0; k < at_once && !full; k += 2)
            full = ::mprotect(static_cast<char*>(all) + k * page, page, PROT_NONE) != 0;
    }
    for (int i = 0; full; ++i) {
        const int access = i % 2 == 0 ? PROT_NONE : PROT_READ;
        if (::mmap(nullptr, page, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) break;
    }
    return full;
}

int end_threads_at_the_limit() {
    constexpr unsigned many = 40;
    ::setenv("RUN_THREAD_IDLE", "1s", 1);
    return weft::main({.procs = 2}, [] {
        scope([](task_scope& s) {
            for (unsigned i = 0; i < many; ++i) s.go([] { blocking([] { ::usleep(20'000); }); });
        });
        if (!use_up_mappings()) return 77;
        const auto until = std::chrono::steady_clock::now() + limit;
        while (stats().threads > 6 && std::chrono::steady_clock::now() < until) sleep_for(5ms);
        if (stats().threads > 6) return lost;
        return channels_pass_everything() ? 0 : lost;
    });
}

class MappingLimit : public DeathTest {};

TEST_F(MappingLimit, ThreadsEndAtTheLimit) {
    if (built_with_sanitizer || emulated) GTEST_SKIP() << "the sanitizer, or the emulator, needs mappings";
    EXPECT_EXIT(
        std::_Exit(end_threads_at_the_limit()),
        [](int status) { return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77); }, "");
}

}  // namespace
}  // namespace weft::test
