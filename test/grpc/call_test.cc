// call_test.cc: a server and a client in one process: the four kinds of methods, errors,
// cancellation and deadlines in both directions, many handlers at once, a slow reader, shutdown.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <stdexcept>

#include <gtest/gtest.h>

#include <weft/grpc/client.h>
#include <weft/grpc/server.h>
#include <weft/weft.h>

#include "grpc/served.h"
#include "support/eventually.h"

namespace weft::test {
namespace {

TEST(Grpc, UnaryCallHasMessageAndMetadata) {
    run([](runtime& rt) {
        const served s({.runtime = &rt});
        const auto stub = s.stub();
        ::grpc::ClientContext c;
        EXPECT_EQ(grpc::call(*stub, &echo::Stub::async::say, c, text_of("a")).value(), "a");
        EXPECT_EQ(c.GetServerTrailingMetadata().count("served"), 1U);
    });
}

TEST(Grpc, StreamsOfAllKindsDeliverInOrder) {
    run([](runtime& rt) {
        const served s({.runtime = &rt});
        const auto stub = s.stub();
        ::grpc::ClientContext c1;
        const auto from = grpc::read_stream(*stub, &echo::Stub::async::repeat, c1, text_of("100"));
        int count = 0;
        while (from->read()) ++count;
        EXPECT_EQ(count, 100);
        ::grpc::ClientContext c2;
        const auto to = grpc::write_stream(*stub, &echo::Stub::async::join, c2);
        for (const char* word : {"a", "b", "c"}) EXPECT_TRUE(to->write(text_of(word)));
        EXPECT_EQ(to->finish().value(), "abc");
        ::grpc::ClientContext c3;
        const auto both = grpc::stream(*stub, &echo::Stub::async::chat, c3);
        weft::scope([&](task_scope& t) {
            t.go([&] {
                for (int i = 0; i < 1000; ++i) EXPECT_TRUE(both->write(text_of(std::to_string(i))));
                both->writes_done();
            });
            for (int i = 0; i < 1000; ++i) EXPECT_EQ(both->read()->value(), std::to_string(i));
            EXPECT_FALSE(both->read());
        });
    });
}

TEST(Grpc, ExceptionOfHandlerIsStatus) {
    run([](runtime& rt) {
        served s({.runtime = &rt});
        const auto stub = s.stub();
        const auto say = [&] { static_cast<void>(grpc::call(*stub, &echo::Stub::async::say, text_of("a"))); };
        s.methods.on_say = [](const text&, text&) { throw grpc::rpc_error(StatusCode::NOT_FOUND, "none"); };
        EXPECT_EQ(code_of(say), StatusCode::NOT_FOUND);
        s.methods.on_say = [](const text&, text&) { throw std::runtime_error("secret"); };
        EXPECT_EQ(code_of(say), StatusCode::UNKNOWN);
    });
}

TEST(Grpc, DeadlineOfCallerEndsCallAndHandler) {
    run([](runtime& rt) {
        served s({.runtime = &rt});
        const auto stub = s.stub();
        std::atomic<bool> interrupted = false;
        s.methods.on_say = [&](const text&, text&) {
            try {
                weft::sleep_for(60s);
            } catch (...) {
                interrupted = true;
                throw;
            }
        };
        EXPECT_THROW(weft::with_timeout(
                         100ms, [&] { static_cast<void>(grpc::call(*stub, &echo::Stub::async::say, text_of("a"))); }),
                     weft::timed_out);
        eventually([&] { return interrupted && s.calls.running() == 0; });
    });
}

TEST(Grpc, CancelledCallerCancelsHandler) {
    run([](runtime& rt) {
        served s({.runtime = &rt});
        const auto stub = s.stub();
        std::atomic<bool> cancelled = false;
        event began;
        s.methods.on_say = [&](const text&, text&) {
            began.set();
            try {
                weft::sleep_for(60s);
            } catch (const weft::cancelled&) {
                cancelled = true;
                throw;
            }
        };
        weft::scope([&](task_scope& t) {
            t.go([&] { static_cast<void>(grpc::call(*stub, &echo::Stub::async::say, text_of("a"))); });
            began.wait();
            t.cancel();
        });
        eventually([&] { return cancelled && s.calls.running() == 0; });
    });
}

TEST(Grpc, ThousandWaitingHandlersNeedFewThreads) {
    run([](runtime& rt) {
        served s({.runtime = &rt});
        const auto stub = s.stub();
        event released;
        s.methods.on_say = [&](const text& q, text& r) {
            released.wait();
            r = q;
        };
        wait_group callers;
        for (int i = 0; i < 1000; ++i) {
            callers.go([&] { EXPECT_EQ(grpc::call(*stub, &echo::Stub::async::say, text_of("a")).value(), "a"); });
        }
        eventually([&] { return s.calls.running() == 1000; });
        const auto threads = std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
        EXPECT_LT(threads, 60);
        released.set();
        callers.wait();
    });
}

TEST(Grpc, SlowReaderMakesWriterWait) {
    run([](runtime& rt) {
        served s({.runtime = &rt});
        const auto stub = s.stub();
        ::grpc::ClientContext c;
        const auto from = grpc::read_stream(*stub, &echo::Stub::async::repeat, c, text_of("10000"));  // 100 MB
        EXPECT_TRUE(from->read());
        // Until no message was written for 300 ms.
        int before = -1;
        while (before != s.methods.written) {
            before = s.methods.written;
            weft::sleep_for(300ms);
        }
        EXPECT_LT(before, 5000);
        int count = 1;
        while (from->read()) ++count;
        EXPECT_EQ(count, 10000);
    });
}

TEST(Grpc, TooManyCallsAreRefused) {
    run([](runtime& rt) {
        served s({.max_calls = 1, .runtime = &rt});
        const auto stub = s.stub();
        event began;
        event released;
        s.methods.on_say = [&](const text&, text&) {
            began.set();
            released.wait();
        };
        const auto say = [&] { static_cast<void>(grpc::call(*stub, &echo::Stub::async::say, text_of("a"))); };
        wait_group first;
        first.go(say);
        began.wait();
        EXPECT_EQ(code_of(say), StatusCode::RESOURCE_EXHAUSTED);
        released.set();
        first.wait();
    });
}

TEST(Grpc, ShutdownCancelsHandlersAndNextServerAnswers) {
    run([](runtime& rt) {
        served s({.runtime = &rt});
        const auto stub = s.stub();
        ::grpc::ClientContext c;
        const auto both = grpc::stream(*stub, &echo::Stub::async::chat, c);
        EXPECT_TRUE(both->write(text_of("a")));
        EXPECT_TRUE(both->read());
        s.running->shutdown(50ms);
        EXPECT_EQ(s.calls.running(), 0U);
        EXPECT_NE(code_of([&] { static_cast<void>(both->read()); }), StatusCode::OK);
        const auto say = [&] { static_cast<void>(grpc::call(*stub, &echo::Stub::async::say, text_of("a"))); };
        EXPECT_EQ(code_of(say), StatusCode::UNAVAILABLE);
        s.start();
        eventually([&] { return code_of(say) == StatusCode::OK; });
    });
}

}  // namespace
}  // namespace weft::test
