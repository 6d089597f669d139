// peers_test.cc: weft::grpc beside grpcio, Python's gRPC: as its client and as its server. The
// server of grpcio is killed in the middle of a stream, and restarted.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <weft/process.h>

#include "grpc/served.h"
#include "support/eventually.h"
#include "support/held_port.h"
#include "support/server_process.h"

namespace weft::test {
namespace {

const std::string peer = WEFT_GRPC_PEER;

class GrpcPeers : public ::testing::Test {
protected:
    void SetUp() override {
        if (::system(("python3 " + peer + " check >/dev/null 2>&1").c_str()) != 0)
            GTEST_SKIP() << "python3-grpcio is not installed";
    }
};

TEST_F(GrpcPeers, CallsServerThatFailsIsKilledAndRestarts) {
    const held_port port;
    server_process python;
    const auto start = [&] { python.start({"python3", peer, "server", std::to_string(port.port())}, "/dev/null"); };
    run([&](runtime&) {
        const auto stub = stub_of(port.port());
        const auto say = [&](const char* what) {
            return code_of([&] { static_cast<void>(grpc::call(*stub, &echo::Stub::async::say, text_of(what))); });
        };
        EXPECT_EQ(say("a"), StatusCode::UNAVAILABLE);
        start();
        eventually([&] { return say("a") == StatusCode::OK; });

        ::grpc::ClientContext c1;
        c1.AddMetadata("from", "weft");
        EXPECT_EQ(grpc::call(*stub, &echo::Stub::async::say, c1, text_of("a")).value(), "python: a");
        EXPECT_EQ(c1.GetServerInitialMetadata().find("first")->second, "early");
        EXPECT_EQ(c1.GetServerTrailingMetadata().find("served")->second, "weft");
        EXPECT_EQ(say("missing"), StatusCode::NOT_FOUND);
        EXPECT_THROW(weft::with_timeout(200ms, [&] { say("slow"); }), weft::timed_out);

        ::grpc::ClientContext c2;
        const auto from = grpc::read_stream(*stub, &echo::Stub::async::repeat, c2, text_of("100"));
        int count = 0;
        while (from->read()) ++count;
        EXPECT_EQ(count, 100);
        ::grpc::ClientContext c3;
        const auto to = grpc::write_stream(*stub, &echo::Stub::async::join, c3);
        for (const char* word : {"a", "b", "c"}) EXPECT_TRUE(to->write(text_of(word)));
        EXPECT_EQ(to->finish().value(), "abc");

        ::grpc::ClientContext c4;
        const auto both = grpc::stream(*stub, &echo::Stub::async::chat, c4);
        EXPECT_TRUE(both->write(text_of("b")));
        EXPECT_EQ(both->read()->value(), "b");
        python.end(SIGKILL);
        EXPECT_EQ(code_of([&] { static_cast<void>(both->read()); }), StatusCode::UNAVAILABLE);
        EXPECT_FALSE(both->write(text_of("b")));
        EXPECT_EQ(say("a"), StatusCode::UNAVAILABLE);
        start();
        eventually([&] { return say("a") == StatusCode::OK; });
    });
}

TEST_F(GrpcPeers, ServesClientThatCancelsAndTimesOut) {
    run([](runtime& rt) {
        served s({.runtime = &rt});
        std::atomic<int> interrupted = 0;
        s.methods.on_say = [&](const text& q, text& r) {
            if (q.value() == "missing") throw grpc::rpc_error(StatusCode::NOT_FOUND, "none");
            if (q.value() == "wait") {
                try {
                    weft::sleep_for(60s);
                } catch (...) {
                    ++interrupted;
                    throw;
                }
            }
            r = q;
        };
        weft::process client({"python3", peer, "client", std::to_string(s.port)});
        const std::optional<weft::exit_status> how = client.wait_for(40s);
        if (!how) client.kill(SIGKILL);
        ASSERT_TRUE(how);
        EXPECT_TRUE(how->ok()) << how->to_string();
        eventually([&] { return interrupted == 1 && s.calls.running() == 0; });
    });
}

}  // namespace
}  // namespace weft::test
