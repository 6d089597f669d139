// scope_tree_test.cc: trees of contexts: what a cancellation reaches, which of two comes first, and
// many at the same moment.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/eventually.h"
#include "support/for_ever.h"
#include "support/interruption.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using ScopeTree = procs_test;
WEFT_SWEEP(ScopeTree);

// A tree of green threads, each waiting at a leaf under a random chain of contexts. One stop token
// in the chain is stopped, which reaches all leaves below it that are not shielded.
class random_tree {
public:
    std::stop_source trunk;
    const chan<int> gate;
    std::atomic<int> at_leaves{0};
    std::atomic<int> wrong{0};

    // exposed: the trunk's cancellation reaches this node.
    void grow(prng random, int depth, bool exposed) {
        if (depth == 0) return leaf(exposed);
        switch (random.below(7)) {
            case 0:
                return shield([&] { grow(random, depth - 1, false); });
            case 1:
                return with_timeout(1h, [&] { grow(random, depth - 1, exposed); });
            case 2:
                return with_stop_token(trunk.get_token(), [&] { grow(random, depth - 1, true); });
            case 3:
                return with_stop_token(std::stop_token(), [&] { grow(random, depth - 1, exposed); });
            case 4: {
                auto f = async([&] { grow(random, depth - 1, false); });
                return shield([&] { f.get(); });
            }
            default:
                scope([&](task_scope& s) {
                    for (int i = 1 + random.below(3); i > 0; --i) {
                        s.go([this, own = random.split(), depth, exposed] { grow(own, depth - 1, exposed); });
                    }
                });
        }
    }

    // How many leaves grow() makes from the same decisions.
    static int leaves_of(prng random, int depth) {
        if (depth == 0) return 1;
        if (random.below(7) < 5) return leaves_of(random, depth - 1);
        int sum = 0;
        for (int i = 1 + random.below(3); i > 0; --i) sum += leaves_of(random.split(), depth - 1);
        return sum;
    }

private:
    void leaf(bool exposed) {
        ++at_leaves;
        wrong += ending_of([&] { exposed ? wait_for_ever() : static_cast<void>(gate.recv()); }) !=
                 (exposed ? ending::cancelled : ending::served);
    }
};

TEST_P(ScopeTree, ACancellationReachesUnshieldedDescendants) {
    const int rounds = scaled(200);
    prng random(announced_seed());
    for (int i = 0; i < rounds; ++i) {
        random_tree tree;
        const prng seed = random.split();
        const int depth = 1 + random.below(9);
        if (i % 4 == 0) tree.trunk.request_stop();  // before anything has grown
        rt().go([&] { tree.grow(seed, depth, false); });
        if (i % 4 == 1) tree.trunk.request_stop();  // while it grows
        const int leaves = random_tree::leaves_of(seed, depth);
        eventually([&] { return tree.at_leaves == leaves; });
        tree.trunk.request_stop();
        tree.gate.close();
        rt().drain();
        EXPECT_EQ(tree.wrong, 0);
    }
}

// ---- Two causes.

TEST_P(ScopeTree, ATimeoutDoesNotReplaceACancellation) {
    std::stop_source source;
    rt().run([&] {
        with_timeout(2ms, [&] {
            with_stop_token(source.get_token(), [&] {
                source.request_stop();
                EXPECT_EQ(ending_of(wait_for_ever), ending::cancelled);
                shield([] { sleep_for(3ms); });
                EXPECT_EQ(ending_of(wait_for_ever), ending::cancelled);
                EXPECT_EQ(ending_of([] { throw_if_cancelled(); }), ending::cancelled);
            });
            EXPECT_EQ(ending_of(wait_for_ever), ending::timed_out);
        });
    });
}

// After a timeout, waits may report a cancellation, which is the more general reason.
TEST_P(ScopeTree, ACancellationReplacesATimeout) {
    std::stop_source source;
    rt().run([&] {
        with_stop_token(source.get_token(), [&] {
            with_timeout(100us, [&] {
                EXPECT_EQ(ending_of(wait_for_ever), ending::timed_out);
                source.request_stop();
                EXPECT_EQ(ending_of(wait_for_ever), ending::cancelled);
                EXPECT_EQ(ending_of([] { throw_if_cancelled(); }), ending::cancelled);
            });
        });
    });
}

TEST_P(ScopeTree, WithTwoRacingCausesEveryWaitThrowsOne) {
    const int rounds = scaled(300);
    rt().run([rounds] {
        for (int i = 0; i < rounds; ++i) {
            std::atomic<int> wrong = 0;
            auto f = async([&] {
                with_timeout(std::chrono::microseconds(i % 60), [&] {
                    const ending first = ending_of(wait_for_ever);
                    const ending second = ending_of(wait_for_ever);
                    const ending third = ending_of([] { throw_if_cancelled(); });
                    wrong += first == ending::served || second == ending::served || third == ending::served;
                    wrong += first == ending::cancelled && second != first;
                    wrong += second == ending::cancelled && third != second;
                });
            });
            sleep_for(std::chrono::microseconds(i % 50));
            f.cancel();
            static_cast<void>(ending_of([&] { f.get(); }));
            ASSERT_EQ(wrong, 0);
        }
    });
}

// The tokens agree with the wait's result, also those of outer contexts.
TEST_P(ScopeTree, TheTokenIsStoppedAfterAnInterruptedWait) {
    const int rounds = scaled(500);
    std::atomic<int> wrong = 0;
    rt().run([&] {
        for (int i = 0; i < rounds; ++i) {
            auto f = async([&, i] {
                const std::stop_token token = this_g::stop_token();
                std::atomic<int> calls = 0;
                const std::stop_callback on_stop(token, [&] { ++calls; });
                with_timeout(1h, [&] {
                    switch (i % 3) {
                        case 0:
                            static_cast<void>(ending_of(wait_for_ever));
                            break;
                        case 1:
                            static_cast<void>(ending_of([] { select(); }));
                            break;
                        default:
                            eventually([] { return ending_of([] { throw_if_cancelled(); }) != ending::served; });
                    }
                    wrong += !token.stop_requested() || !this_g::stop_token().stop_requested();
                });
                eventually([&] { return calls == 1; });
            });
            if (i % 3 == 0) weft::yield();
            f.cancel();
            f.get();
        }
    });
    EXPECT_EQ(wrong, 0);
}

// ---- Many at the same moment.

TEST_P(ScopeTree, ManyThreadsCancelAtTheSameTime) {
    const int n = scaled(100);
    std::vector<future<ending>> f;
    park(static_cast<uint64_t>(n), [&] {
        for (int i = 0; i < n; ++i) f.push_back(rt().async([] { return ending_of(wait_for_ever); }));
    });
    std::atomic<bool> now = false;
    for (const future<ending>& each : f) {
        for (int k = 0; k < 3; ++k) {
            rt().go([&] {
                while (!now) weft::yield();
                each.cancel();
            });
        }
    }
    now = true;
    rt().drain();
    for (future<ending>& each : f) EXPECT_EQ(each.get(), ending::cancelled);
}

// Each cancellation causes another one, in a circle.
TEST_P(ScopeTree, CancellationsThatCauseEachOtherDoNotHang) {
    const int rounds = scaled(200);
    rt().run([rounds] {
        for (int i = 0; i < rounds; ++i) {
            constexpr std::size_t n = 6;
            std::vector<std::stop_source> sources(n);
            scope([&](task_scope& s) {
                for (std::size_t k = 0; k < n; ++k) {
                    s.go([&, k] {
                        with_stop_token(sources[k].get_token(), [&] {
                            const std::stop_callback next(this_g::stop_token(),
                                                          [&] { sources[(k + 1) % n].request_stop(); });
                            static_cast<void>(ending_of(wait_for_ever));
                        });
                    });
                }
                if (i % 2 == 0) weft::yield();
                sources[static_cast<std::size_t>(i) % n].request_stop();
            });
        }
    });
}

// Parts of a tree come and go while it is cancelled from the top.
TEST_P(ScopeTree, AGrowingTreeMayBeCancelled) {
    const int rounds = scaled(200);
    rt().run([rounds] {
        prng random(5);
        for (int i = 0; i < rounds; ++i) {
            const std::function<void(prng, int)> grow = [&](prng own, int depth) {
                scope([&](task_scope& s) {
                    for (int k = 1 + own.below(3); k > 0 && depth > 0; --k) {
                        s.go([&, part = own.split(), depth] { grow(part, depth - 1); });
                        if (own.one_in(3)) weft::yield();
                        with_timeout(std::chrono::microseconds(own.below(200)), [&] {
                            if (own.one_in(2)) static_cast<void>(ending_of([] { sleep_for(5us); }));
                        });
                    }
                });
            };
            auto f = async([&, own = random.split()] { grow(own, 4); });
            sleep_for(std::chrono::microseconds(random.below(100)));
            f.cancel();
            static_cast<void>(ending_of([&] { f.get(); }));
        }
    });
}

// ---- Contexts that have ended leave no trace.

TEST_P(ScopeTree, ACancellationIgnoresEndedContexts) {
    rt().run([] {
        std::stop_source source;
        with_stop_token(source.get_token(), [&] {
            for (int i = 0; i < 100; ++i) {
                with_timeout(1h, [] {});
                scope([](task_scope& s) {
                    s.go([] {});
                    auto f = s.async([] { return 1; });
                });
            }
            source.request_stop();
            EXPECT_EQ(ending_of(wait_for_ever), ending::cancelled);
        });
    });
}

}  // namespace
}  // namespace weft::test
