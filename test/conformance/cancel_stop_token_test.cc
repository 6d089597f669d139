// cancel_stop_token_test.cc: std::stop_token as input of weft, and as its output.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
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

using CancelStopToken = procs_test;
WEFT_SWEEP(CancelStopToken);

// ---- with_stop_token: others stop the green thread.

TEST_P(CancelStopToken, ReturnsAndThrowsWhatTheFunctionDoes) {
    const std::stop_source source;
    int target = 0;
    EXPECT_EQ(&with_stop_token(source.get_token(), [&]() -> int& { return target; }), &target);
    EXPECT_EQ(*with_stop_token(source.get_token(), [] { return std::make_unique<int>(3); }), 3);
    EXPECT_THROW(with_stop_token(source.get_token(), [] { throw 7; }), int);
    with_stop_token(source.get_token(), [] {});
}

TEST_P(CancelStopToken, ATokenWithoutASourceInterruptsNothing) {
    rt().run([] {
        with_stop_token(std::stop_token(), [] { sleep_for(100us); });
        const auto orphan = [] { return std::stop_source().get_token(); };
        with_stop_token(orphan(), [] { sleep_for(100us); });
    });
}

TEST_P(CancelStopToken, TheTokenHasNoEffectAfterItsBlock) {
    std::stop_source source;
    rt().run([&] {
        with_stop_token(source.get_token(), [] {});
        source.request_stop();
        sleep_for(100us);
    });
}

TEST_P(CancelStopToken, OneTokenStopsMany) {
    std::stop_source source;
    const int n = scaled(2000);
    std::atomic<int> stopped = 0;
    park(static_cast<uint64_t>(n), [&] {
        for (int i = 0; i < n; ++i) {
            rt().go([&] {
                stopped += ending_of([&] { with_stop_token(source.get_token(), wait_for_ever); }) == ending::cancelled;
            });
        }
    });
    source.request_stop();
    rt().drain();
    EXPECT_EQ(stopped, n);
}

TEST_P(CancelStopToken, AGreenThreadMayStopItself) {
    rt().run([] {
        std::stop_source source;
        EXPECT_EQ(ending_of([&] {
                      with_stop_token(source.get_token(), [&] {
                          source.request_stop();
                          wait_for_ever();
                      });
                  }),
                  ending::cancelled);
    });
}

// The stop comes while the context is made, while it is left, or at neither time.
TEST_P(CancelStopToken, StoppingRacesWithEnteringAndLeaving) {
    const int rounds = scaled(3000);
    std::atomic<int> wrong = 0;
    std::atomic<std::stop_source*> shared = nullptr;
    std::atomic<bool> over = false;
    std::thread stopper([&] {
        prng random(1);
        while (!over) {
            if (std::stop_source* s = shared.exchange(nullptr)) {
                for (int i = random.below(200); i > 0; --i) throw_if_cancelled();  // a moment
                s->request_stop();
                delete s;
            }
            std::this_thread::yield();
        }
    });
    rt().run([&] {
        const chan<int> c(1);
        for (int i = 0; i < rounds; ++i) {
            std::stop_source source;
            shared = new std::stop_source(source);
            const ending e = ending_of([&] {
                with_stop_token(source.get_token(), [&] {
                    for (int k = i % 5; k > 0; --k) with_stop_token(source.get_token(), [&] { c.send(1), c.recv(); });
                    if (i % 2 == 0) wait_for_ever();
                });
            });
            wrong += i % 2 == 0 ? e != ending::cancelled : e != ending::served;
            eventually([&] { return shared == nullptr; });
        }
    });
    over = true;
    stopper.join();
    EXPECT_EQ(wrong, 0);
}

TEST_P(CancelStopToken, NestedTokensBothTakeEffect) {
    for (const bool outer : {true, false}) {
        std::stop_source a;
        std::stop_source b;
        std::optional<future<ending>> f;
        std::atomic<bool> inner_alone = false;
        park(1, [&] {
            f = rt().async([&] {
                return ending_of([&] {
                    with_stop_token(a.get_token(), [&] {
                        inner_alone =
                            ending_of([&] { with_stop_token(b.get_token(), wait_for_ever); }) == ending::cancelled &&
                            ending_of([] { throw_if_cancelled(); }) == ending::served;
                        throw_if_cancelled();
                    });
                });
            });
        });
        (outer ? a : b).request_stop();
        EXPECT_EQ(f->get(), outer ? ending::cancelled : ending::served);
        EXPECT_EQ(inner_alone, !outer);
    }
}

TEST_P(CancelStopToken, AJthreadEndsItsWaits) {
    std::atomic<bool> interrupted = false;
    {
        std::jthread t([&](std::stop_token token) {
            interrupted = ending_of([&] { with_stop_token(std::move(token), wait_for_ever); }) == ending::cancelled;
        });
    }
    EXPECT_TRUE(interrupted);
}

// A callback delivers the stop: no green thread is started to wait for it.
TEST_P(CancelStopToken, NoGreenThreadIsStartedToWatchAToken) {
    std::stop_source source;
    rt().run([&] {
        const uint64_t before = stats().spawned;
        const std::function<void(int)> nest = [&](int depth) {
            if (depth == 0) {
                source.request_stop();
                wait_for_ever();
            }
            with_stop_token(source.get_token(), [&] {
                static_cast<void>(this_g::stop_token());
                nest(depth - 1);
            });
        };
        EXPECT_THROW(nest(scaled(100)), cancelled);
        EXPECT_EQ(stats().spawned, before);
    });
}

// ---- this_g::stop_token: the green thread tells others that it is stopped.

TEST_P(CancelStopToken, WithoutACancellationSourceStopIsNotPossible) {
    EXPECT_FALSE(this_g::stop_token().stop_possible());
    rt().run([] { with_timeout(1h, [] { shield([] { EXPECT_FALSE(this_g::stop_token().stop_possible()); }); }); });
    std::atomic<bool> possible = true;
    rt().go([&] { possible = this_g::stop_token().stop_possible(); });
    rt().drain();
    EXPECT_FALSE(possible);
}

TEST_P(CancelStopToken, ItIsStoppedByEveryKindOfCancellation) {
    std::stop_source source;
    std::stop_source never_stopped;
    std::vector<std::stop_token> tokens(3);
    std::atomic<int> known = 0;
    std::vector<future<void>> f;
    const chan<int> gate;
    park(4, [&] {
        f.push_back(rt().async([&] {
            tokens[0] = this_g::stop_token();
            ++known;
            wait_for_ever();
        }));
        f.push_back(rt().async([&] {
            with_stop_token(source.get_token(), [&] {
                with_stop_token(never_stopped.get_token(), [&] {
                    tokens[1] = this_g::stop_token();
                    ++known;
                    wait_for_ever();
                });
            });
        }));
        f.push_back(rt().async([&] {
            scope([&](task_scope& s) {
                s.go([&] {
                    tokens[2] = this_g::stop_token();
                    ++known;
                    wait_for_ever();
                });
                gate.recv();
                s.cancel();
            });
        }));
    });
    eventually([&] { return known == 3; });
    for (const std::stop_token& t : tokens) EXPECT_FALSE(t.stop_requested());
    f[0].cancel();
    source.request_stop();
    gate.send(1);
    EXPECT_THROW(f[0].get(), cancelled);
    EXPECT_THROW(f[1].get(), cancelled);
    f[2].get();
    for (const std::stop_token& t : tokens) EXPECT_TRUE(t.stop_requested());
    EXPECT_FALSE(never_stopped.stop_requested());
}

// No wait is in progress. The token still reports the stop, and registered callbacks are called.
TEST_P(CancelStopToken, ItIsStoppedWhileItsGreenThreadComputes) {
    std::atomic<int> calls = 0;
    std::atomic<bool> computing = false;
    auto f = rt().async([&] {
        const std::stop_token token = this_g::stop_token();
        const std::stop_callback on_stop(token, [&] { ++calls; });
        computing = true;
        busily([&] { return token.stop_requested(); });
        return 5;
    });
    eventually([&] { return computing.load(); });
    f.cancel();
    EXPECT_EQ(f.get(), 5);
    EXPECT_EQ(calls, 1);
}

TEST_P(CancelStopToken, ItIsTheSameEachTime) {
    rt().run([] {
        with_timeout(1h, [] {
            const std::stop_token token = this_g::stop_token();
            EXPECT_EQ(this_g::stop_token(), token);
            scope([&](task_scope& s) {
                EXPECT_NE(this_g::stop_token(), token);
                s.cancel();
                EXPECT_TRUE(this_g::stop_token().stop_requested());
                EXPECT_FALSE(token.stop_requested());
            });
        });
    });
}

TEST_P(CancelStopToken, ItMayOutliveItsContext) {
    std::vector<std::stop_token> kept;
    rt().run([&] {
        with_timeout(1h, [&] { kept.push_back(this_g::stop_token()); });
        scope([&](task_scope&) { kept.push_back(this_g::stop_token()); });
        auto f = async([&] { kept.push_back(this_g::stop_token()); });
        f.wait();
        f.cancel();
        f.get();
    });
    for (const std::stop_token& t : kept) {
        const std::stop_callback on_stop(t, [] {});
        static_cast<void>(t.stop_requested());
    }
}

// The cancelling thread calls the callbacks, with no lock of weft held. They may use weft as long
// as they do not wait.
TEST_P(CancelStopToken, ItsCallbacksMayUseWeft) {
    const chan<int> told(3);
    rt().run([&] {
        auto f = async([&] {
            const std::stop_callback on_stop(this_g::stop_token(), [&] { static_cast<void>(told.try_send(1)); });
            wait_for_ever();
        });
        sleep_for(100us);
        f.cancel();
        EXPECT_THROW(f.get(), cancelled);
        scope([&](task_scope& s) {
            const std::stop_callback on_stop(this_g::stop_token(), [&] {
                s.cancel();
                told.send(2);
                EXPECT_TRUE(s.cancelled());
            });
            s.cancel();
        });
    });
    EXPECT_EQ(told.recv(), 1);
    EXPECT_EQ(told.recv(), 2);
}

// Deadlines, stop tokens and scopes in a chain: cancellation passes through all of them.
TEST_P(CancelStopToken, ChainedTokensPropagateAStop) {
    std::stop_source source;
    std::optional<future<ending>> f;
    park(1, [&] {
        f = rt().async([&] {
            const std::function<ending(int, std::stop_token)> link = [&](int depth, std::stop_token token) -> ending {
                return ending_of([&] {
                    with_stop_token(std::move(token), [&] {
                        if (depth == 0) wait_for_ever();
                        const std::stop_token mine = this_g::stop_token();
                        if (shield([&] { return link(depth - 1, mine); }) == ending::cancelled) throw_if_cancelled();
                    });
                });
            };
            return link(20, source.get_token());
        });
    });
    source.request_stop();
    EXPECT_EQ(f->get(), ending::cancelled);
}

}  // namespace
}  // namespace weft::test
