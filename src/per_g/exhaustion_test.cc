// exhaustion_test.cc: stacks, memory or threads run out: the call throws, and nothing is lost.
//
// After each round of a fault loop, every G, stack and credit must be accounted for.
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "os/os.h"
#include "sched/current.h"
#include "sched/scheduler.h"
#include "support/build.h"
#include "support/environment.h"
#include "support/eventually.h"
#include "support/resources.h"
#include "wait/thread_note.h"

// ---- operator new that fails on demand, for the whole test binary.

namespace {

constinit std::atomic<int> allocations_until_failure{0};  // 0: none fails
constinit std::atomic<long> allocations_alive{0};

[[maybe_unused]] void* allocate(std::size_t size, std::size_t align) {
    int left = allocations_until_failure.load(std::memory_order_relaxed);
    while (left > 0) {
        if (!allocations_until_failure.compare_exchange_weak(left, left - 1)) continue;
        if (left == 1) throw std::bad_alloc();
        break;
    }
    void* memory = align <= alignof(std::max_align_t) ? std::malloc(size == 0 ? 1 : size)
                                                      : std::aligned_alloc(align, (size + align - 1) / align * align);
    if (memory == nullptr) throw std::bad_alloc();
    allocations_alive.fetch_add(1, std::memory_order_relaxed);
    return memory;
}

[[maybe_unused]] void release(void* memory) noexcept {
    if (memory != nullptr) allocations_alive.fetch_sub(1, std::memory_order_relaxed);
    std::free(memory);
}

}  // namespace

#if !WEFT_TEST_SANITIZED  // the sanitizers define their own

void* operator new(std::size_t size) { return allocate(size, 1); }

void* operator new(std::size_t size, std::align_val_t align) { return allocate(size, static_cast<std::size_t>(align)); }

void operator delete(void* memory) noexcept { release(memory); }

void operator delete(void* memory, std::size_t) noexcept { release(memory); }

void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }

void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

#endif

namespace weft::detail {
namespace {

using test::eventually;

// ---- Failures.

enum class failing { map, thread, memory };

void fail_nth(failing what, int n) {
    switch (what) {
        case failing::map:
            os::fail_nth_for_test(os::failure::map, n);
            return;
        case failing::thread:
            os::fail_nth_for_test(os::failure::thread, n);
            return;
        case failing::memory:
            allocations_until_failure.store(n);
            return;
    }
}

bool fails_now(failing what) {
    switch (what) {
        case failing::map: {
            void* memory = os::map_pages(os::page_size(), false);
            if (memory != nullptr) os::unmap_pages(memory, os::page_size());
            return memory == nullptr;
        }
        case failing::thread: {
            os::thread_id id = 0;
            const int error = os::start_thread(id, [](void*) -> void* { return nullptr; }, nullptr);
            if (error == 0) os::join_thread(id);
            return error != 0;
        }
        case failing::memory:
            return allocations_until_failure.exchange(0) > 0;
    }
    return false;
}

struct loop_result {
    int rounds = 0;  // rounds that met a failure
    int thrown = 0;  // rounds whose failure reached the caller
};

// Runs body with the n-th call failing, n = 1, 2, 3 … until it makes fewer calls; balance runs
// after each round.
template <typename Body, typename Balance>
loop_result fail_each(failing what, Body&& body, Balance&& balance) {
    loop_result result;
    for (int n = 1; n <= 1000; ++n) {
        bool thrown = false;
        fail_nth(what, n);
        try {
            body();
        } catch (const resource_exhausted& e) {
            thrown = true;
            EXPECT_NE(e.code().value(), 0);
            EXPECT_NE(std::string(e.what()).find("weft: "), std::string::npos) << e.what();
        } catch (const std::bad_alloc&) {
            thrown = true;
        }
        bool met = true;
        for (int i = 0; i < n && met; ++i) met = !fails_now(what);
        fail_nth(what, 0);
        EXPECT_TRUE(met || !thrown) << "round " << n << " threw without a cause";
        balance();
        if (!met) return result;
        ++result.rounds;
        result.thrown += thrown;
    }
    ADD_FAILURE() << "no end of failures";
    return result;
}

auto leak_check() {
    return [before = allocations_alive.load()]() mutable {
        EXPECT_EQ(allocations_alive.load() - before, 0) << "allocations leaked";
        before = allocations_alive.load();  // excludes what a failed check allocates
    };
}

// ---- Accounting.

// How many credits the pool can give out of what is mapped.
uint32_t credits_free(stack_pool& pool) {
    uint32_t taken = 0;
    for (uint32_t step = 1 << 16; step != 0; step /= 2) {
        os::fail_nth_for_test(os::failure::map, 1);
        while (pool.reserve(step) == 0) {
            taken += step;
            os::fail_nth_for_test(os::failure::map, 1);
        }
    }
    os::fail_nth_for_test(os::failure::map, 0);
    pool.unreserve(taken);
    return taken;
}

struct books {
    int64_t credits_missing = 0;  // neither free, nor in a P's cache, nor with a live G
    int64_t gs_missing = 0;       // neither in the depot, nor in a P's cache, nor live
    uint64_t stacks = 0;          // in the depot, in Ps' caches, with dead Gs, or with the counting G
};

// Requires: the caller is the only G of a runtime with one P.
books balance_of(scheduler& s) {
    books b;
    P& p = s.ps[0];
    const auto reserve =
        static_cast<int64_t>(s.ps.made() * (P::cached_stacks_max + P::bound_gs_max + 1) + trimmed_at_once);
    b.credits_missing = static_cast<int64_t>(s.stacks.mapped()) - reserve - credits_free(s.stacks) - p.credits - 1;

    int64_t all = 0;
    int64_t living = 0;
    s.gs.for_each([&](const G& g) {
        ++all;
        const bool lives = g.state.load() != g_state::dead;
        living += lives;
        b.stacks += !lives && g.stack != nullptr;
    });
    EXPECT_EQ(living, 1);
    fifo<G> dead = s.gs.take(UINT32_MAX);
    b.gs_missing = all - living - dead.size() - p.dead_gs.size();
    static_cast<void>(s.gs.give(dead));

    fifo<stack> pooled = s.stacks.take_reused(UINT32_MAX);
    b.stacks += 1 + pooled.size() + p.stacks.size();
    static_cast<void>(s.stacks.give(pooled));
    return b;
}

// Leaves n stacks, Gs and credits for reuse.
void warm_up(int n) {
    const chan<int> gate;
    wait_group all;
    const uint64_t parks = stats().parks + static_cast<uint64_t>(n);
    for (int i = 0; i < n; ++i) all.go([gate] { gate.recv(); });
    eventually([&] { return stats().parks >= parks; });
    gate.close();
    all.wait();
    eventually([] { return stats().live == 1; });
}

// calm: a retake maps memory and creates threads, and the counting G must hold the P.
class Exhaustion : private test::calm, public ::testing::Test {
protected:
    // This thread's note is created once and kept: no leak.
    Exhaustion() { static_cast<void>(this_thread_note()); }

    ~Exhaustion() override {
        for (const failing what : {failing::map, failing::thread, failing::memory}) fail_nth(what, 0);
    }

    template <typename Body>
    loop_result within_a_g(failing what, int warm, Body&& body) {
        runtime rt({.procs = 1, .memory_idle = runtime_options::keep_memory});  // so that missing means lost
        return rt.run([&] {
            scheduler& s = *current_m()->home;
            if (warm != 0) warm_up(warm);
            const uint64_t stacks_before = balance_of(s).stacks;
            std::optional<long> alive;
            const auto balance = [&] {
                eventually([] { return stats().live == 1; });
                const books b = balance_of(s);
                EXPECT_EQ(b.credits_missing, 0);
                EXPECT_EQ(b.gs_missing, 0);
                if (warm != 0) {
                    EXPECT_EQ(b.stacks, stacks_before);
                    EXPECT_EQ(allocations_alive.load(), alive.value_or(allocations_alive.load()));
                }
                alive = allocations_alive.load();
                auto f = async([] { return 6 * 7; });
                EXPECT_EQ(f.get(), 42);
                eventually([] { return stats().live == 1; });
            };
            balance();
            return fail_each(what, body, balance);
        });
    }
};

// ---- Memory.

struct large_closure {
    std::array<char, 300> more{};
    std::shared_ptr<int> owned = std::make_shared<int>(0);
    wait_group* all = nullptr;

    void operator()() const { all->done(); }
};

class ExhaustionOfMemory : public Exhaustion {
protected:
    void SetUp() override {
        if (test::built_with_sanitizer) GTEST_SKIP() << "operator new is the sanitizer's";
    }
};

TEST_F(ExhaustionOfMemory, GoWithALargeClosureThrowsAndStartsNothing) {
    const loop_result r = within_a_g(failing::memory, 300, [] {
        wait_group all;
        all.add();
        try {
            go(large_closure{.all = &all});
        } catch (...) {
            all.done();
            throw;
        }
        all.wait();
    });
    EXPECT_EQ(r.rounds, 2) << "the shared pointer and the closure";
    EXPECT_EQ(r.thrown, 2);
}

TEST_F(ExhaustionOfMemory, WaitGroupGoThrowsAndKeepsTheCount) {
    const loop_result r = within_a_g(failing::memory, 300, [] {
        wait_group all;
        const std::array<char, 100> more{};
        try {
            all.go([more] { EXPECT_EQ(more[7], 0); });
        } catch (...) {
            all.wait();  // the count is zero
            throw;
        }
        all.wait();
    });
    EXPECT_EQ(r.rounds, 1);
    EXPECT_EQ(r.thrown, 1);
}

TEST_F(ExhaustionOfMemory, AsyncThrowsAndStartsNothing) {
    const loop_result r = within_a_g(failing::memory, 300, [] {
        auto f = async([text = std::string(100, 'x')] { return text + "y"; });
        EXPECT_EQ(f.get().size(), 101U);
    });
    EXPECT_GE(r.rounds, 3) << "the text, the state, and what is returned";
    EXPECT_EQ(r.thrown, r.rounds);
}

TEST_F(ExhaustionOfMemory, MakingAChannelThrowsBadAlloc) {
    const loop_result r = within_a_g(failing::memory, 300, [] {
        const chan<std::string> c(5);
        c.send(std::string(100, 'x'));
        const chan<std::string> d;
        EXPECT_EQ(c.recv()->size(), 100U);
    });
    EXPECT_EQ(r.rounds, 3);
    EXPECT_EQ(r.thrown, 3);
}

TEST_F(ExhaustionOfMemory, AChannelLargerThanMemoryThrowsBadAlloc) {
    EXPECT_THROW(chan<int>(SIZE_MAX), std::bad_alloc);
    EXPECT_THROW(chan<int>(SIZE_MAX / sizeof(int)), std::bad_alloc);
    EXPECT_THROW(chan<int>(SIZE_MAX / sizeof(int) / 2), std::bad_alloc);
}

TEST_F(ExhaustionOfMemory, TheFirstUseOfALocalThrows) {
    std::array<local<std::string>, 12> texts{local<std::string>()};  // more than a table's own slots
    const loop_result r = within_a_g(failing::memory, 300, [&] {
        auto used = async([&] {
            for (const auto& text : texts) text->append(50, 'x');
            auto heir = async({.inherit_locals = true}, [&] { return texts.back()->size(); });
            EXPECT_EQ(heir.get(), 50U);
        });
        used.get();
    });
    EXPECT_GE(r.rounds, 2 * 2 * 12 + 2 * 2);
    EXPECT_EQ(r.thrown, r.rounds);
}

TEST_F(ExhaustionOfMemory, GoThrowsAndLosesNoGreenThread) {
    const loop_result r = within_a_g(failing::memory, 0, [] {
        const chan<int> gate;
        wait_group all;
        try {
            for (int i = 0; i < 600; ++i) all.go([gate] { gate.recv(); });
        } catch (...) {
            gate.close();
            all.wait();
            throw;
        }
        gate.close();
        all.wait();
    });
    EXPECT_GE(r.thrown, 1);
}

TEST_F(ExhaustionOfMemory, ARuntimeConstructorThrowsAndLeaksNothing) {
    const auto body = [] {
        runtime rt({.procs = 3, .name = "a name too long to fit into the string object itself"});
        EXPECT_EQ(rt.run([] { return 5; }), 5);
    };
    body();
    const loop_result r = fail_each(failing::memory, body, leak_check());
    EXPECT_GE(r.thrown, 5);
}

TEST_F(ExhaustionOfMemory, MainThrowsAndLeaksNothing) {
    const auto body = [] { EXPECT_EQ(weft::main({.procs = 2}, [] { return 5; }), 5); };
    body();
    const loop_result r = fail_each(failing::memory, body, leak_check());
    EXPECT_GE(r.thrown, 5);
}

// ---- Stacks.

// Starts n Gs that park, and lets them end, also after an exception.
void park_some(int n) {
    const chan<int> gate;
    wait_group all;
    int started = 0;
    std::atomic<int> ran{0};
    const auto let_go = [&] {
        gate.close();
        all.wait();
        EXPECT_EQ(ran.load(), started);
    };
    try {
        for (; started < n; ++started) {
            all.go([&ran, gate] {
                gate.recv();
                ran.fetch_add(1);
            });
            if (started % 100 == 0) yield();
        }
    } catch (...) {
        let_go();
        throw;
    }
    let_go();
}

class address_space_limit {
public:
    address_space_limit() {
        getrlimit(RLIMIT_AS, &before_);
        rlimit tight = before_;
        tight.rlim_cur = (test::resources::now().virtual_kib + 32 * 1024) * 1024;  // a mapping of stacks takes 80 MiB
        setrlimit(RLIMIT_AS, &tight);
    }

    ~address_space_limit() { setrlimit(RLIMIT_AS, &before_); }

    address_space_limit(const address_space_limit&) = delete;
    address_space_limit& operator=(const address_space_limit&) = delete;

    // Sanitizers need address space, and emulators do not count it.
    [[nodiscard]] static bool works() {
        if (test::built_with_sanitizer) return false;
        const address_space_limit limit;
        constexpr std::size_t much = std::size_t{64} << 20;
        void* memory = os::map_pages(much, true);
        if (memory != nullptr) os::unmap_pages(memory, much);
        return memory == nullptr;
    }

private:
    rlimit before_{};
};

TEST_F(Exhaustion, WithoutStacksGoThrowsAndStartedOnesRun) {
    if (!address_space_limit::works()) GTEST_SKIP() << "the address space has no limit here";
    runtime rt({.procs = 1});
    rt.run([] {
        for (int round = 0; round < 3; ++round) {
            {
                const address_space_limit limit;
                try {
                    park_some(2000);
                    ADD_FAILURE() << "nothing was thrown";
                } catch (const resource_exhausted& e) {
                    EXPECT_EQ(e.code().value(), ENOMEM);
                    EXPECT_NE(std::string(e.what()).find("no address space for another stack"), std::string::npos)
                        << e.what();
                }
                eventually([] { return stats().live == 1; });
                park_some(100);
                eventually([] { return stats().live == 1; });
            }
            const books b = balance_of(*current_m()->home);
            EXPECT_EQ(b.credits_missing, 0);
            EXPECT_EQ(b.gs_missing, 0);
        }
        park_some(2000);
        eventually([] { return stats().live == 1; });
    });
}

// One failure is not exhaustion: go() retries with less.
TEST_F(Exhaustion, OneFailedMappingIsAbsorbed) {
    const loop_result r = within_a_g(failing::map, 0, [] { park_some(900); });
    EXPECT_GE(r.rounds, 1);
    EXPECT_EQ(r.thrown, 0);
}

TEST_F(Exhaustion, WithoutALargerStackGoThrows) {
    for (const std::size_t size : {std::size_t{1} << 20, std::size_t{60} << 20}) {
        runtime rt({.procs = 1});
        rt.run([&] {
            const uint64_t spawned = stats().spawned;
            const auto body = [size] {
                wait_group all;
                std::array<char, 100> more{};
                all.go({.stack_size = size}, [more] { EXPECT_EQ(more[0], 0); });
                all.wait();
            };
            const loop_result r = fail_each(failing::map, body, [] {});
            EXPECT_EQ(r.thrown, 1);
            EXPECT_EQ(stats().spawned, spawned + 1) << "nothing was started";
            eventually([] { return stats().live == 1; });
        });
    }
}

TEST_F(ExhaustionOfMemory, DoesNotLoseALargerStack) {
    runtime rt({.procs = 1});
    rt.run([] {
        const auto body = [] {
            wait_group all;
            const std::array<char, 100> more{};
            all.go({.stack_size = std::size_t{1} << 20}, [more] { EXPECT_EQ(more[0], 0); });
            all.wait();
        };
        body();
        const uint64_t mapped = stats().stacks_mapped;
        for (int i = 0; i < 50; ++i) {
            fail_each(failing::memory, body, [] { eventually([] { return stats().live == 1; }); });
        }
        EXPECT_EQ(stats().stacks_mapped, mapped);
    });
}

TEST_F(Exhaustion, WithoutStacksGoOfAPlainThreadThrows) {
    runtime rt({.procs = 1});
    rt.run([] {});  // its thread has mapped what it needs
    const auto body = [&] {
        const chan<int> gate;
        std::atomic<int> ran{0};
        int started = 0;
        const auto let_go = [&] {
            gate.close();
            rt.drain();
            EXPECT_EQ(ran.load(), started);
        };
        try {
            for (; started < 300; ++started) {
                rt.go([gate, &ran] {
                    gate.recv();
                    ran.fetch_add(1);
                });
            }
        } catch (...) {
            let_go();
            throw;
        }
        let_go();
    };
    const loop_result r = fail_each(failing::map, body, [&] {
        rt.drain();
        rt.run([] {
            eventually([] { return stats().live == 1; });
            const books b = balance_of(*current_m()->home);
            EXPECT_EQ(b.credits_missing, 0);
            EXPECT_EQ(b.gs_missing, 0);
        });
    });
    EXPECT_EQ(r.thrown, 1);
}

TEST_F(Exhaustion, WithoutAddressSpaceARuntimeConstructorThrows) {
    const auto body = [] {
        runtime rt({.procs = 2});
        EXPECT_EQ(rt.run([] { return 5; }), 5);
    };
    body();
    const loop_result r = fail_each(failing::map, body, leak_check());
    EXPECT_EQ(r.thrown, 3) << "Ps, stacks and Gs; without an alternate signal stack it works";
}

TEST_F(Exhaustion, WithoutAddressSpaceMainThrows) {
    const loop_result r =
        fail_each(failing::map, [] { EXPECT_EQ(weft::main({.procs = 2}, [] { return 5; }), 5); }, [] {});
    EXPECT_EQ(r.thrown, 3);
}

TEST_F(Exhaustion, AFailedRestartLeavesAStoppedRuntime) {
    runtime rt({.procs = 2});
    rt.abandon();
    for (const failing what : {failing::map, failing::thread}) {
        fail_nth(what, 1);
        EXPECT_THROW(rt.start(), resource_exhausted);
        EXPECT_FALSE(rt.running());
        EXPECT_EQ(rt.abandon(), 0U);
        rt.start();
        EXPECT_EQ(rt.run([] { return 1; }), 1);
        rt.abandon();
    }
}

// ---- Threads.

void busy_work() {
    const chan<int> numbers(4);
    wait_group producers;
    std::atomic<long> sum{0};
    wait_group consumers;
    for (int i = 0; i < 4; ++i) {
        producers.go([&numbers] {
            for (int n = 0; n < 200; ++n) {
                test::compute_for(std::chrono::microseconds(2));
                numbers.send(n);
            }
        });
        consumers.go([&numbers, &sum] {
            for (int n : numbers) sum += n;
        });
    }
    producers.wait();
    numbers.close();
    consumers.wait();
    EXPECT_EQ(sum.load(), 4 * 199 * 200 / 2);
}

TEST_F(Exhaustion, AThreadShortageThrowsOnlyWithoutAnyThread) {
    const auto body = [] {
        runtime rt({.procs = 4});
        rt.run([] { busy_work(); });
    };
    body();
    const loop_result r = fail_each(failing::thread, body, leak_check());
    EXPECT_EQ(r.thrown, 2) << "with the monitor and one thread it works, if slowly";
}

TEST_F(Exhaustion, WithRetakesAThreadShortageThrowsOnlyWithoutAny) {
    const test::retakes_at_will retakes;
    const test::slices_of_100us slices;
    const auto body = [] {
        runtime rt({.procs = 2});
        rt.run([] { busy_work(); });
    };
    body();
    const loop_result r = fail_each(failing::thread, body, leak_check());
    EXPECT_GE(r.rounds, 3);
    EXPECT_EQ(r.thrown, 2);
}

TEST_F(Exhaustion, AThreadShortageFailsMainOnlyWithoutAMonitor) {
    const loop_result r = fail_each(
        failing::thread,
        [] {
            EXPECT_EQ(weft::main({.procs = 4},
                                 [] {
                                     busy_work();
                                     return 3;
                                 }),
                      3);
        },
        [] {});
    EXPECT_EQ(r.thrown, 1);
}

TEST_F(Exhaustion, AFailedThreadIsRequestedAgain) {
    runtime rt({.procs = 2});
    os::fail_nth_for_test(os::failure::thread, 1);
    rt.run([] {
        const auto two_run_at_once = [] {
            std::atomic<bool> other{false};
            go([&] { other.store(true); });
            const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
            while (!other.load() && std::chrono::steady_clock::now() < end) {}
            const bool yes = other.load();
            eventually([&] { return other.load(); });
            return yes;
        };
        eventually([&] {
            for (int i = 0; i < 100; ++i) yield();
            return two_run_at_once();
        });
        EXPECT_EQ(stats().threads, 2U);
    });
}

// Nothing is pushed: once there is a thread, the waiting G runs.
TEST_F(Exhaustion, AThreadShortageDelaysNoGBehindAHog) {
    runtime rt({.procs = 2});
    os::fail_nth_for_test(os::failure::thread, 1);
    const uint64_t shortages = rt.run([] {
        std::atomic<int> ran{0};
        for (int i = 0; i < 3; ++i) go([&] { ++ran; });
        const int thread = test::os_thread_id();
        test::busily([&] { return ran.load() == 3; });
        EXPECT_EQ(test::os_thread_id(), thread);
        return stats().thread_shortages;
    });
    EXPECT_EQ(shortages, 1U);
}

TEST_F(Exhaustion, UsingAnExistingLocalAllocatesNothing) {
    runtime rt({.procs = 1});
    rt.run([] {
        std::array<local<int>, 50> values;
        for (auto& value : values) *value = 1;
        fail_nth(failing::memory, 1);
        int sum = 0;
        for (int round = 0; round < 3; ++round) {
            for (auto& value : values) sum += ++*value;
            yield();
        }
        const bool untouched = fails_now(failing::memory);  // the first call since then
        EXPECT_TRUE(untouched);
        EXPECT_EQ(sum, 50 * (2 + 3 + 4));
    });
}

TEST_F(Exhaustion, ACoroutineAwaitingAFutureGetsBadAlloc) {
    struct waiting {
        static task<int> of(future<int> f, std::shared_ptr<int> held, bool& thrown) {
            try {
                co_return co_await std::move(f) + *held;
            } catch (const std::bad_alloc&) {
                thrown = true;
            }
            co_return *held;
        }
    };

    runtime rt({.procs = 1});
    rt.run([] {
        promise<int> first;
        bool thrown = false;
        auto held = std::make_shared<int>(4);
        future<int> result = async(waiting::of(first.get_future(), held, thrown));
        fail_nth(failing::memory, 1);
        yield();
        const bool failed = !fails_now(failing::memory);
        first.set_value(3);
        EXPECT_EQ(result.get(), failed ? 4 : 7);
        EXPECT_EQ(thrown, failed);
#if !WEFT_TEST_SANITIZED
        EXPECT_TRUE(failed);
#endif
        EXPECT_EQ(held.use_count(), 1);
    });
}

TEST_F(Exhaustion, AThreadShortageDoesNotStopPinnedGs) {
    const auto body = [] {
        runtime rt({.procs = 2});
        rt.run([] {
            wait_group all;
            for (int i = 0; i < 6; ++i) {
                all.go([i] {
                    pin here;
                    if (i == 5) here.keep();
                    for (int n = 0; n < 5; ++n) {
                        wait_group child;
                        child.go([] { yield(); });
                        child.wait();
                    }
                });
            }
            all.wait();
        });
    };
    body();
    const loop_result r = fail_each(failing::thread, body, leak_check());
    EXPECT_EQ(r.thrown, 2);
    EXPECT_GE(r.rounds, 5);
}

TEST_F(Exhaustion, PinnedGsRunOnTheOnlyThread) {
    ::setenv("RUN_MAX_THREADS", "1", 1);
    runtime rt({.procs = 2});
    ::unsetenv("RUN_MAX_THREADS");
    rt.run([] {
        std::atomic<int> others{0};
        wait_group all;
        {
            const pin here;
            for (int i = 0; i < 3; ++i) all.go([&] { ++others; });
            for (int i = 0; i < 10; ++i) yield();
            sleep_for(std::chrono::milliseconds(2));
            EXPECT_EQ(others.load(), 0);
        }
        all.wait();
        EXPECT_EQ(others.load(), 3);
        EXPECT_EQ(stats().threads, 1U);
    });
}

// A thread that takes its P takes its place too.
TEST_F(Exhaustion, TheOnlyThreadMayEndWithItsPinnedG) {
    ::setenv("RUN_MAX_THREADS", "1", 1);
    runtime rt({.procs = 1});
    ::unsetenv("RUN_MAX_THREADS");
    std::atomic<int> others{0};
    for (int round = 1; round <= 3; ++round) {
        rt.go([&] {
            pin().keep();
            for (int i = 0; i < 3; ++i) go([&] { ++others; });
        });
        eventually([&] { return others.load() == 3 * round; });
    }
    EXPECT_LE(rt.stats().threads, 2U);
}

}  // namespace
}  // namespace weft::detail
