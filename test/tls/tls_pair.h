// tls_pair.h: two ends of a connection, both in this process.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <weft/net/tcp.h>
#include <weft/tls/stream.h>
#include <weft/weft.h>

#include "support/procs_test.h"
#include "tls/certificates.h"

namespace weft::test {

// A server for example.test, and a client that trusts only the test authority.
[[nodiscard]] inline tls::server_options usual_server() { return {.own = {test_authority().issue()}}; }

[[nodiscard]] inline tls::client_options usual_client() {
    return {.trust_system = false, .trusted = test_authority().pem()};
}

// A pair of connected TCP streams.
[[nodiscard]] inline std::pair<net::tcp_stream, net::tcp_stream> tcp_pair() {
    net::tcp_listener listener(net::endpoint::loopback(0));
    net::tcp_stream near = net::tcp_stream::connect(listener.local_endpoint());
    net::tcp_stream far = listener.accept();
    return {std::move(near), std::move(far)};
}

struct tls_pair {
    tls::stream client;
    tls::stream server;
};

// Without a handshake yet.
[[nodiscard]] inline tls_pair raw_pair(const tls::context& client,
                                       const tls::context& server,
                                       const char* host = "example.test") {
    auto [near, far] = tcp_pair();
    return {tls::stream::client(std::move(near), host, client), tls::stream::server(std::move(far), server)};
}

// The results of a handshake at both ends.
struct handshake_result {
    std::error_code client;
    std::error_code server;
    std::string client_failure;
    std::string server_failure;
};

// Both ends make the handshake. The client then waits for a byte, because under TLS 1.3 it learns
// only then that it was refused.
inline handshake_result shake_hands(tls_pair& p) {
    handshake_result r;
    wait_group far;
    far.go([&] {
        p.server.handshake(r.server);
        std::error_code ignored;
        if (!r.server) p.server.write_all("!", ignored);
    });
    p.client.handshake(r.client);
    char b[1];
    if (!r.client) static_cast<void>(p.client.read(b, r.client));
    if (r.client) p.client.close();
    far.wait();
    r.client_failure = p.client.failure();
    r.server_failure = p.server.failure();
    return r;
}

[[nodiscard]] inline tls_pair connected_pair(const tls::context& client, const tls::context& server) {
    tls_pair p = raw_pair(client, server);
    const handshake_result r = shake_hands(p);
    EXPECT_FALSE(r.client) << r.client.message() << ": " << r.client_failure;
    EXPECT_FALSE(r.server) << r.server.message() << ": " << r.server_failure;
    return p;
}

// A fixture with a connection after its handshake.
class tls_test : public procs_test {
protected:
    // The poller of plain threads, and what OpenSSL opens once, stay open.
    static void SetUpTestSuite() {
        runtime one({.procs = 1});
        one.run([] {
            static_cast<void>(
                connected_pair(tls::context::client(usual_client()), tls::context::server(usual_server())));
        });
        net::tcp_listener listener(net::endpoint::loopback(0));
        listener.set_deadline(std::chrono::steady_clock::now() + std::chrono::milliseconds(1));
        std::error_code ec;
        static_cast<void>(listener.accept(ec));
    }

    tls_test() {
        rt().run([this] { pair_ = connected_pair(trusting_, serving_); });
    }

    void TearDown() override {
        pair_ = {};
        procs_test::TearDown();
    }

    tls::context trusting_ = tls::context::client(usual_client());
    tls::context serving_ = tls::context::server(usual_server());
    tls_pair pair_;
};

}  // namespace weft::test
