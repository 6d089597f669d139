// nats_clients.cc URL [CALLERS REQUESTS ROUNDS]: requests of weft::nats beside those of libnats in
// OS threads.
//
// Each caller sends requests to one service, one after the other. The service is the same for both:
// a subscription of libnats that answers in its callback, on a connection of its own. Both kinds of
// callers share one connection.
#include <nats/nats.h>

#include <string>

#include <weft/nats/client.h>
#include <weft/weft.h>

#include "compare.h"

namespace {

void answer(natsConnection* c, natsSubscription* /*s*/, natsMsg* m, void* /*of*/) {
    natsConnection_Publish(c, natsMsg_GetReply(m), natsMsg_GetData(m), natsMsg_GetDataLength(m));
    natsMsg_Destroy(m);
}

natsConnection* connected(const char* url) {
    natsConnection* c = nullptr;
    natsConnection_ConnectTo(&c, url);
    return c;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const bench::load l = bench::load::of(argc, argv);
    natsConnection* const service = connected(argv[1]);
    natsSubscription* served = nullptr;
    natsConnection_Subscribe(&served, service, "echo", answer, nullptr);
    natsConnection_Flush(service);
    natsConnection* const plain = connected(argv[1]);
    const int status = weft::main([&] {
        weft::nats::client client({.servers = {argv[1]}});
        const auto by_weft = [&] {
            weft::wait_group all;
            for (std::size_t i = 0; i < l.callers; ++i) {
                all.go([&] {
                    for (std::size_t k = 0; k < l.requests; ++k) static_cast<void>(client.request("echo", "hello"));
                });
            }
            all.wait();
        };
        const auto by_threads = [&] {
            bench::in_threads(l.callers, [&](std::size_t) {
                for (std::size_t k = 0; k < l.requests; ++k) {
                    natsMsg* reply = nullptr;
                    natsConnection_RequestString(&reply, plain, "echo", "hello", 5'000);
                    natsMsg_Destroy(reply);
                }
            });
        };
        bench::compare(l, "weft::nats", by_weft, "libnats, OS threads", [&] { weft::blocking(by_threads); });
        return 0;
    });
    natsSubscription_Destroy(served);
    natsConnection_Destroy(service);
    natsConnection_Destroy(plain);
    return status;
}
