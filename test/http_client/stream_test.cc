// stream_test.cc: bodies that are read and sent in parts.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include <weft/http/client.h>

#include "http_client/served.h"
#include "support/eventually.h"

namespace weft::test {
namespace {

using http::client;
using http::client_errc;
using http::request;
using http::response;

using HttpClientStream = client_test;
WEFT_SWEEP_OVER(HttpClientStream, 1U, 4U);

// Waits until count has grown, and has then been the same for 400 ms.
void await_standstill(const std::atomic<std::size_t>& count) {
    std::size_t before = 0;
    int same = 0;
    eventually([&] {
        weft::sleep_for(20ms);
        const std::size_t now = count;
        same = now != 0 && now == before ? same + 1 : 0;
        before = now;
        return same == 20;
    });
}

TEST_P(HttpClientStream, PartsArriveWhenTheServerSendsThem) {
    rt().run([] {
        event may_go_on;
        const web s([&](http::server& to) {
            to.handle("/", [&](request&, response& w) {
                w.write("first");
                w.flush();
                may_go_on.wait();
                w.write("second");
            });
        });
        client c(direct());
        http::reply r = c.send({.url = s.url("/")});
        std::array<char, 100> part;
        EXPECT_EQ(std::string(part.data(), r.read_some(part)), "first");
        may_go_on.set();
        EXPECT_EQ(std::string(part.data(), r.read_some(part)), "second");
        EXPECT_EQ(r.read_some(part), 0U);
        EXPECT_EQ(r.read_some(part), 0U);
    });
}

TEST_P(HttpClientStream, ASlowReaderMakesTheServerWait) {
    rt().run([] {
        constexpr std::size_t block = 64 * 1024;
        constexpr std::size_t blocks = 1024;  // 64 MiB: more than all socket buffers
        std::atomic<std::size_t> sent = 0;
        const web s([&](http::server& to) {
            to.handle("/", [&](request&, response& w) {
                const std::string text(block, 'x');
                for (std::size_t i = 0; i < blocks; ++i) {
                    w.write(text);
                    sent += block;
                }
            });
        });
        client c(direct());
        http::reply r = c.send({.url = s.url("/")});
        // The server stops to make progress: the client keeps its buffer, the kernel its own.
        await_standstill(sent);
        EXPECT_LT(sent, block * blocks / 2);
        std::size_t received = 0;
        std::string part(block, '\0');
        while (const std::size_t n = r.read_some(part)) received += n;
        EXPECT_EQ(received, block * blocks);
    });
}

TEST_P(HttpClientStream, UploadsFromAFunction) {
    rt().run([] {
        const web s([](http::server& to) {
            to.handle("/", [](request& r, response& w) {
                const std::string known = r.content_length() ? std::to_string(*r.content_length()) : "chunks";
                r.set_body_max(100'000'000);
                std::uint64_t sum = 0;
                std::uint64_t size = 0;
                std::array<unsigned char, 10'000> part;
                while (const std::size_t n = r.read_some(part)) {
                    size += n;
                    for (std::size_t i = 0; i < n; ++i) sum += part[i];
                }
                w.send(known + " " + std::to_string(size) + " " + std::to_string(sum));
            });
        });
        client c(direct());
        for (const bool is_known : {false, true}) {
            std::size_t left = 1'000'000;
            http::client_request r{.method = "PUT", .url = s.url("/")};
            r.body_from = [&](net::mutable_buffer b) {
                weft::yield();
                const std::size_t n = std::min({b.size(), left, std::size_t{7'000}});
                std::memset(b.data(), 2, n);
                left -= n;
                return n;
            };
            if (is_known) r.body_size = 1'000'000;
            EXPECT_EQ(c.send(std::move(r)).body(), (is_known ? "1000000" : "chunks") + std::string(" 1000000 2000000"));
        }
    });
}

TEST_P(HttpClientStream, AnUploadWaitsForASlowServer) {
    rt().run([] {
        event may_read;
        const web s([&](http::server& to) {
            to.handle("/", [&](request& r, response& w) {
                may_read.wait();
                r.set_body_max(100'000'000);
                w.send(std::to_string(r.body().size()));
            });
        });
        client c(direct());
        constexpr std::size_t size = 64 * 1024 * 1024;
        std::atomic<std::size_t> given = 0;
        std::string said;
        wait_group sending;
        sending.go([&] {
            http::client_request r{.method = "POST", .url = s.url("/")};
            r.body_from = [&](net::mutable_buffer b) {
                const std::size_t n = std::min(b.size(), size - given);
                std::memset(b.data(), 'x', n);
                given += n;
                return n;
            };
            said = c.send(std::move(r)).body();
        });
        await_standstill(given);
        EXPECT_LT(given, size / 2);
        may_read.set();
        sending.wait();
        EXPECT_EQ(said, std::to_string(size));
    });
}

TEST_P(HttpClientStream, ARefusalEndsAnUpload) {
    rt().run([] {
        const web s([](http::server& to) {
            to.handle("/", [](request&, response&) { throw http::failure(413, "too large"); });
        });
        client c(direct());
        http::client_request r{.method = "POST", .url = s.url("/")};
        r.body_from = [](net::mutable_buffer b) {  // never ends
            std::memset(b.data(), 'x', b.size());
            return b.size();
        };
        EXPECT_EQ(c.send(std::move(r)).status(), 413U);
    });
}

TEST_P(HttpClientStream, WhatTheFunctionThrowsLeavesSend) {
    rt().run([] {
        event has_gone;
        const raw_server s([&](net::tcp_stream& c) {
            await_end(c);
            has_gone.set();
        });
        client c(direct());
        http::client_request r{.method = "POST", .url = s.url()};
        r.body_from = [n = 0](net::mutable_buffer b) mutable {
            if (++n == 3) throw std::domain_error("no more");
            std::memset(b.data(), 'x', 10);
            return std::size_t{10};
        };
        EXPECT_THROW(static_cast<void>(c.send(r)), std::domain_error);
        has_gone.wait();
        r.body_from = [](net::mutable_buffer b) { return b.size() + 1; };
        EXPECT_THROW(static_cast<void>(c.send(r)), std::logic_error);
    });
}

TEST_P(HttpClientStream, AReplyOutlivesItsClient) {
    rt().run([] {
        const web s([](http::server& to) { to.handle("/", [](request&, response& w) { w.send("here"); }); });
        std::optional<http::reply> r;
        {
            client c(direct());
            r = c.get(s.url("/"));
        }
        EXPECT_EQ(r->text(), "here");
        EXPECT_EQ(r->body(), "here");
    });
}

}  // namespace
}  // namespace weft::test
