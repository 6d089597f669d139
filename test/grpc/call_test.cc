// call_test.cc: a server and a client in one process: the four kinds of methods, errors,
// cancellation and deadlines in both directions, many handlers at once, a slow reader, shutdown.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <weft/grpc/client.h>
#include <weft/grpc/server.h>
#include <weft/weft.h>

#include "echo.grpc.pb.h"
#include "support/eventually.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using ::grpc::StatusCode;

class service final : public echo::CallbackService {
public:
    explicit service(grpc::handlers& calls) : calls_(calls) {}

    ::grpc::ServerUnaryReactor* say(::grpc::CallbackServerContext* c, const text* q, text* r) override {
        return grpc::unary(calls_, c, [this, c, q, r] {
            c->AddTrailingMetadata("served", "yes");
            on_say(*q, *r);
        });
    }

    ::grpc::ServerWriteReactor<text>* repeat(::grpc::CallbackServerContext* c, const text* q) override {
        return grpc::write_stream<text>(calls_, c, [this, q](auto& to) {
            const int count = std::stoi(q->value());
            text large;
            large.set_value(std::string(10'000, 'x'));
            for (int i = 0; i < count; ++i) {
                to.write(large);
                ++written;
            }
        });
    }

    ::grpc::ServerReadReactor<text>* join(::grpc::CallbackServerContext* c, text* r) override {
        return grpc::read_stream<text>(calls_, c, [r](auto& from) {
            while (const std::optional<text> m = from.read()) r->set_value(r->value() + m->value());
        });
    }

    ::grpc::ServerBidiReactor<text, text>* chat(::grpc::CallbackServerContext* c) override {
        return grpc::stream<text, text>(calls_, c, [](auto& both) {
            while (const std::optional<text> m = both.read()) both.write(*m);
        });
    }

    std::function<void(const text&, text&)> on_say = [](const text& q, text& r) { r = q; };
    std::atomic<int> written = 0;

private:
    grpc::handlers& calls_;
};

text text_of(const std::string& value) {
    text t;
    t.set_value(value);
    return t;
}

// A server on a port that the system chooses, or on a given one, and a client of it.
struct served {
    explicit served(grpc::handlers_options how = {}) : calls(how), methods(calls) { start(); }

    void start() {
        ::grpc::ServerBuilder b;
        b.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
        b.AddListeningPort("127.0.0.1:" + std::to_string(port), ::grpc::InsecureServerCredentials(), &port);
        b.RegisterService(&methods);
        running.emplace(b, calls);
    }

    std::unique_ptr<echo::Stub> stub() const {
        ::grpc::ChannelArguments a;
        a.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
        a.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
        a.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
        return echo::NewStub(
            ::grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port), ::grpc::InsecureChannelCredentials(), a));
    }

    grpc::handlers calls;
    service methods;
    int port = 0;
    std::optional<grpc::server> running;
};

// In a runtime with two Ps.
template <typename F>
void run(F f) {
    runtime rt({.procs = 2});
    rt.run([&] { weft::with_timeout(60s, [&] { f(rt); }); });
}

template <typename F>
StatusCode code_of(F f) {
    try {
        f();
    } catch (const grpc::rpc_error& e) {
        return e.code();
    }
    return StatusCode::OK;
}

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
