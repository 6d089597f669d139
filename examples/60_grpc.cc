// 60_grpc.cc: a gRPC service whose methods may block, and calls that block only the green thread.
//
// needs: weft::grpc
//
// Server and client are in one process.
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <weft/grpc/client.h>
#include <weft/grpc/server.h>
#include <weft/weft.h>

#include "60_grpc.grpc.pb.h"

namespace {

using namespace std::chrono_literals;
using inventory::item;
using inventory::stock;

class service final : public stock::CallbackService {
public:
    explicit service(weft::grpc::handlers& calls) : calls_(calls) {}

    ::grpc::ServerUnaryReactor* find(::grpc::CallbackServerContext* c, const item* q, item* r) override {
        return weft::grpc::unary(calls_, c, [q, r] {
            if (q->name() == "unicorns") {
                throw weft::grpc::rpc_error(::grpc::StatusCode::NOT_FOUND, "no unicorns");
            }
            if (q->name() == "snails") weft::sleep_for(1h);
            r->set_name(q->name());
            r->set_count(7);
        });
    }

    ::grpc::ServerWriteReactor<item>* watch(::grpc::CallbackServerContext* c, const item* q) override {
        return weft::grpc::write_stream<item>(calls_, c, [q](auto& to) {
            for (int n = 3; n > 0; --n) {
                item left = *q;
                left.set_count(n);
                to.write(left);  // waits while the client does not read
                weft::sleep_for(1ms);
            }
        });
    }

private:
    weft::grpc::handlers& calls_;
};

item named(const char* name) {
    item i;
    i.set_name(name);
    return i;
}

void ask(stock::Stub& stub) {
    std::printf("apples: %d\n", weft::grpc::call(stub, &stock::Stub::async::find, named("apples")).count());
    ::grpc::ClientContext context;
    const auto pears = weft::grpc::read_stream(stub, &stock::Stub::async::watch, context, named("pears"));
    while (const std::optional<item> left = pears->read()) std::printf("pears: %d\n", left->count());
    try {
        static_cast<void>(weft::grpc::call(stub, &stock::Stub::async::find, named("unicorns")));
    } catch (const weft::grpc::rpc_error& e) {
        std::printf("%s\n", e.what());
    }
    try {
        // The deadline goes to the server, and interrupts its handler.
        weft::with_timeout(
            50ms, [&] { static_cast<void>(weft::grpc::call(stub, &stock::Stub::async::find, named("snails"))); });
    } catch (const weft::timed_out& e) {
        std::printf("%s\n", e.what());
    }
}

}  // namespace

int main() {
    return weft::main([] {
        weft::grpc::handlers calls;
        service methods(calls);
        int port = 0;
        ::grpc::ServerBuilder builder;
        builder.AddListeningPort("127.0.0.1:0", ::grpc::InsecureServerCredentials(), &port);
        builder.RegisterService(&methods);
        weft::grpc::server server(builder, calls);
        const auto stub = stock::NewStub(
            ::grpc::CreateChannel("127.0.0.1:" + std::to_string(port), ::grpc::InsecureChannelCredentials()));
        ask(*stub);
        server.shutdown(1s);
        std::printf("running: %d\n", static_cast<int>(calls.running()));
        return 0;
    });
}
