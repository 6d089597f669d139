// grpc_clients.cc - [CALLERS REQUESTS ROUNDS]: handlers and calls of weft::grpc beside those of
// gRPC's synchronous API, which has an OS thread for each handler and each caller.
//
// First the servers: green threads call each of them, so the clients are the same. Then the
// clients: both call the server of weft::grpc. Client and server share the process, so the CPU has
// both. The first argument is not used.
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <memory>
#include <string>

#include <weft/grpc/client.h>
#include <weft/grpc/server.h>
#include <weft/weft.h>

#include "compare.h"
#include "echo.grpc.pb.h"

namespace {

using weft::test::echo;
using weft::test::text;

class green_echo final : public echo::CallbackService {
public:
    explicit green_echo(weft::grpc::handlers& calls) : calls_(calls) {}

    ::grpc::ServerUnaryReactor* say(::grpc::CallbackServerContext* c, const text* q, text* r) override {
        return weft::grpc::unary(calls_, c, [q, r] { *r = *q; });
    }

private:
    weft::grpc::handlers& calls_;
};

class plain_echo final : public echo::Service {
public:
    ::grpc::Status say(::grpc::ServerContext* /*c*/, const text* q, text* r) override {
        *r = *q;
        return ::grpc::Status::OK;
    }
};

std::unique_ptr<echo::Stub> stub_of(int port) {
    return echo::NewStub(
        ::grpc::CreateChannel("127.0.0.1:" + std::to_string(port), ::grpc::InsecureChannelCredentials()));
}

void listen(::grpc::ServerBuilder& b, int& port, ::grpc::Service& methods) {
    b.AddListeningPort("127.0.0.1:0", ::grpc::InsecureServerCredentials(), &port);
    b.RegisterService(&methods);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::load l = bench::load::of(argc, argv);
    return weft::main([&] {
        weft::grpc::handlers calls;
        green_echo green(calls);
        int green_port = 0;
        ::grpc::ServerBuilder green_builder;
        listen(green_builder, green_port, green);
        weft::grpc::server green_server(green_builder, calls);
        plain_echo plain;
        int plain_port = 0;
        ::grpc::ServerBuilder plain_builder;
        listen(plain_builder, plain_port, plain);
        const std::unique_ptr<::grpc::Server> plain_server = plain_builder.BuildAndStart();
        const auto to_green = stub_of(green_port);
        const auto to_plain = stub_of(plain_port);
        text question;
        question.set_value("hello");
        const auto by_weft = [&](echo::Stub& stub) {
            weft::wait_group all;
            for (std::size_t i = 0; i < l.callers; ++i) {
                all.go([&] {
                    for (std::size_t k = 0; k < l.requests; ++k) {
                        static_cast<void>(weft::grpc::call(stub, &echo::Stub::async::say, question));
                    }
                });
            }
            all.wait();
        };
        const auto by_threads = [&] {
            bench::in_threads(l.callers, [&](std::size_t) {
                for (std::size_t k = 0; k < l.requests; ++k) {
                    ::grpc::ClientContext c;
                    text answer;
                    if (!to_green->say(&c, question, &answer).ok()) std::abort();
                }
            });
        };
        std::puts("servers");
        bench::compare(l, "weft::grpc", [&] { by_weft(*to_green); }, "gRPC, sync", [&] { by_weft(*to_plain); });
        std::puts("clients");
        bench::compare(
            l, "weft::grpc", [&] { by_weft(*to_green); }, "gRPC, OS threads", [&] { weft::blocking(by_threads); });
        weft::blocking([&] { plain_server->Shutdown(); });
        return 0;
    });
}
