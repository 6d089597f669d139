// served.h: a server of weft::grpc for tests, and clients of it.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <weft/grpc/client.h>
#include <weft/grpc/server.h>
#include <weft/weft.h>

#include "echo.grpc.pb.h"

namespace weft::test {

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

inline text text_of(const std::string& value) {
    text t;
    t.set_value(value);
    return t;
}

// A client that connects again soon.
inline std::unique_ptr<echo::Stub> stub_of(int port) {
    ::grpc::ChannelArguments a;
    a.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    a.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
    a.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
    return echo::NewStub(
        ::grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port), ::grpc::InsecureChannelCredentials(), a));
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

    std::unique_ptr<echo::Stub> stub() const { return stub_of(port); }

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

}  // namespace weft::test
