// hard_times_test.cc: servers that are slow, silent, faulty or gone; callers that are interrupted;
// clients that end.
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

#include <weft/http/client.h>
#include <weft/io.h>

#include "http_client/served.h"
#include "support/eventually.h"
#include "support/held_port.h"

namespace weft::test {
namespace {

using http::client;
using http::client_errc;
using http::client_options;

using HttpClientHardTimes = client_test;
WEFT_SWEEP_OVER(HttpClientHardTimes, 1U, 4U);

constexpr std::string_view ok_head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n";

// The code of a GET of that server.
std::error_code get_fails(const raw_server& s, const client_options& how) {
    return code_of_failure([&] {
        client c(how);
        static_cast<void>(c.get(s.url()));
    });
}

// Answers every request with text, then closes.
auto answers(std::string_view text) {
    return [text](net::tcp_stream& s) {
        if (read_head(s).empty()) return;
        s.write_all(text);
        s.shutdown_send();
        await_end(s);
    };
}

TEST_P(HttpClientHardTimes, FailsIfNothingListens) {
    rt().run([] {
        const held_port port;
        client c(direct());
        const std::string url = "http://127.0.0.1:" + std::to_string(port.port()) + "/";
        EXPECT_EQ(code_of_failure([&] { static_cast<void>(c.get(url)); }), client_errc::could_not_connect);
    });
}

TEST_P(HttpClientHardTimes, LimitsTheTimeToConnect) {
    rt().run([] {
        // A TLS server that never answers the handshake: the TCP connection is there.
        raw_server s([](net::tcp_stream& c) { await_end(c); });
        client_options how = direct();
        how.connect_time = 50ms;
        client c(how);
        const std::string url = "https" + s.url().substr(4);
        const std::error_code ec = code_of_failure([&] { static_cast<void>(c.get(url)); });
        EXPECT_EQ(ec, client_errc::connect_timed_out);
        EXPECT_EQ(ec, std::errc::timed_out);
    });
}

TEST_P(HttpClientHardTimes, LimitsTheSilenceBeforeTheHeader) {
    rt().run([] {
        const raw_server s([](net::tcp_stream& c) { await_end(c); });
        client_options how = direct();
        how.idle_time = 50ms;
        EXPECT_EQ(get_fails(s, how), client_errc::idle_timed_out);
    });
}

TEST_P(HttpClientHardTimes, LimitsTheSilenceWithinTheBody) {
    rt().run([] {
        const raw_server s([](net::tcp_stream& c) {
            if (read_head(c).empty()) return;
            c.write_all(std::string(ok_head) + "12345");
            await_end(c);
        });
        client_options how = direct();
        how.idle_time = 50ms;
        client c(how);
        http::reply r = c.send({.url = s.url()});
        EXPECT_EQ(r.status(), 200U);
        std::array<char, 100> part;
        EXPECT_EQ(r.read_some(part), 5U);
        for (int i = 0; i < 2; ++i)
            EXPECT_EQ(code_of_failure([&] { static_cast<void>(r.read_some(part)); }), client_errc::idle_timed_out);
    });
}

// The body of a reply is a stream for weft::io. An error in an error code is that of the other
// form.
TEST_P(HttpClientHardTimes, ABodyThatIsReadByLinesReportsItsErrors) {
    static_assert(io::byte_source<http::reply>);
    rt().run([] {
        const raw_server s([](net::tcp_stream& c) {
            if (read_head(c).empty()) return;
            c.write_all(std::string(ok_head) + "line\n123");
            await_end(c);
        });
        client_options how = direct();
        how.idle_time = 50ms;
        client c(how);
        http::reply silent = c.send({.url = s.url()});
        io::buffered_reader in(silent);
        std::error_code ec = make_error_code(client_errc::idle_timed_out);
        EXPECT_EQ(in.read_line(ec), "line");
        EXPECT_FALSE(ec);
        EXPECT_EQ(in.read_line(ec), std::nullopt);
        EXPECT_EQ(ec, client_errc::idle_timed_out);
        EXPECT_EQ(in.buffered(), "123");

        how.idle_time = 1h;
        client patient(how);
        http::reply slow = patient.send({.url = s.url()});
        std::array<char, 100> part;
        EXPECT_EQ(slow.read_some(part, ec), 8U);
        EXPECT_FALSE(ec);
        with_timeout(5ms, [&] { EXPECT_EQ(slow.read_some(part, ec), 0U); });
        EXPECT_EQ(ec, weft::errc::timed_out);
    });
}

TEST_P(HttpClientHardTimes, SlowBytesAreNotSilence) {
    rt().run([] {
        const raw_server s([](net::tcp_stream& c) {
            if (read_head(c).empty()) return;
            c.write_all(ok_head);
            for (int i = 0; i < 10; ++i) {
                weft::sleep_for(250ms);
                c.write_all("x");
            }
            await_end(c);
        });
        client_options how = direct();
        how.idle_time = 2s;
        EXPECT_EQ(client(how).get(s.url()).text(), "xxxxxxxxxx");
        how.total_time = 300ms;
        EXPECT_EQ(get_fails(s, how), client_errc::timed_out);
    });
}

TEST_P(HttpClientHardTimes, LimitsTheTimeOfOneRequest) {
    rt().run([] {
        const raw_server s([](net::tcp_stream& c) { await_end(c); });
        client c(direct());
        const std::error_code ec =
            code_of_failure([&] { static_cast<void>(c.send({.url = s.url(), .total_time = 50ms})); });
        EXPECT_EQ(ec, client_errc::timed_out);
    });
}

TEST_P(HttpClientHardTimes, ReportsRepliesThatAreCutOffOrMalformed) {
    rt().run([] {
        const std::pair<std::string_view, client_errc> cases[] = {
            {"", client_errc::connection_lost},
            {"HTTP/1.1 200 OK\r\nContent-Le", client_errc::connection_lost},
            {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345", client_errc::connection_lost},
            {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12", client_errc::connection_lost},
            {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n12", client_errc::connection_lost},
            {"SSH-2.0-OpenSSH_9.2\r\n", client_errc::bad_reply},
        };
        for (const auto& [text, why] : cases) {
            const raw_server s(answers(text));
            EXPECT_EQ(get_fails(s, direct()), why) << text;
        }
        const raw_server whole(answers("HTTP/1.0 200 OK\r\n\r\nuntil the end"));
        EXPECT_EQ(client(direct()).get(whole.url()).text(), "until the end");
    });
}

TEST_P(HttpClientHardTimes, SendsAgainOnAConnectionThatTheServerHasClosed) {
    rt().run([] {
        raw_server s([](net::tcp_stream& c) {
            if (read_head(c).empty()) return;
            c.write_all(std::string(ok_head) + "1234567890");  // keep-alive, and then closes
        });
        client c(direct());
        for (int i = 0; i < 3; ++i) EXPECT_EQ(c.get(s.url()).text(), "1234567890");
        EXPECT_EQ(s.accepted, 3);
    });
}

TEST_P(HttpClientHardTimes, SendsAgainIfAKeptConnectionEndsWithoutAByte) {
    rt().run([] {
        const raw_server s([n = std::make_shared<std::atomic<int>>(0)](net::tcp_stream& c) {
            const bool is_first = ++*n == 1;
            if (read_head(c).empty()) return;
            c.write_all(std::string(ok_head) + "1234567890");
            if (is_first)
                static_cast<void>(read_head(c));  // takes the second request, and closes
            else
                await_end(c);
        });
        client c(direct());
        EXPECT_EQ(c.post(s.url(), "").text(), "1234567890");
        EXPECT_EQ(c.post(s.url(), "").text(), "1234567890") << "also a POST: see the documentation";
        EXPECT_EQ(s.accepted, 2);
    });
}

// Fails the first two requests, and answers the third one.
struct fails_twice {
    std::string_view first;
    std::atomic<int>& asked;

    void operator()(net::tcp_stream& c) const {
        if (read_head(c).empty()) return;
        c.write_all(++asked < 3 ? first : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        c.shutdown_send();
        await_end(c);
    }
};

client_options with_retries(unsigned most) {
    client_options how = direct();
    how.retries_max = most;
    how.retry_delay = 1ms;
    return how;
}

TEST_P(HttpClientHardTimes, RetriesWhatMayBeRepeated) {
    rt().run([] {
        constexpr std::string_view later = "HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n";
        for (const std::string_view first : {later, std::string_view("HTTP/1.1 2")}) {
            std::atomic<int> asked = 0;
            const raw_server s(fails_twice{first, asked});
            client c(with_retries(2));
            const http::reply r = c.get(s.url());
            EXPECT_EQ(r.status(), 200U);
            EXPECT_EQ(r.retries(), 2U);
            EXPECT_EQ(asked, 3);
        }
        std::atomic<int> asked = 0;
        const raw_server s(fails_twice{later, asked});
        EXPECT_EQ(client(with_retries(1)).get(s.url()).status(), 503U) << "the last reply, if none is better";
        EXPECT_EQ(asked, 2);
    });
}

TEST_P(HttpClientHardTimes, RepeatsNoPost) {
    rt().run([] {
        std::atomic<int> asked = 0;
        const raw_server s(fails_twice{"HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n", asked});
        EXPECT_EQ(client(with_retries(5)).post(s.url(), "").status(), 503U);
        EXPECT_EQ(asked, 1);
        const raw_server gone(fails_twice{"HTTP/1.1 2", asked});
        EXPECT_EQ(code_of_failure([&] { static_cast<void>(client(with_retries(5)).post(gone.url(), "")); }),
                  client_errc::connection_lost);
        EXPECT_EQ(asked, 2);
    });
}

TEST_P(HttpClientHardTimes, HeedsRetryAfter) {
    rt().run([] {
        std::atomic<int> asked = 0;
        const raw_server s(fails_twice{"HTTP/1.1 429 Slow\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n", asked});
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_EQ(client(with_retries(1)).get(s.url()).status(), 429U);
        EXPECT_GE(std::chrono::steady_clock::now() - begin, 1s);
        EXPECT_EQ(asked, 2);
        client_options how = with_retries(5);
        how.retry_delay_max = 500ms;
        asked = 0;
        EXPECT_EQ(client(how).get(s.url()).status(), 429U) << "longer than retry_delay_max: the reply at once";
        EXPECT_EQ(asked, 1);
    });
}

TEST_P(HttpClientHardTimes, AServerThatRestartsIsReachedAgain) {
    rt().run([] {
        const held_port port;
        const std::string url = "http://127.0.0.1:" + std::to_string(port.port()) + "/";
        client c(direct());
        for (int i = 0; i < 3; ++i) {
            http::server s;
            s.handle("/", [](http::request&, http::response& w) { w.send("up"); });
            net::tcp_listener listener(port.at());
            wait_group serving;
            serving.go([&] { s.serve(listener); });
            EXPECT_EQ(c.get(url).text(), "up");
            s.shutdown(0s);
            serving.wait();
            EXPECT_EQ(code_of_failure([&] { static_cast<void>(c.get(url)); }), client_errc::could_not_connect);
        }
    });
}

TEST_P(HttpClientHardTimes, ACancellationClosesTheConnection) {
    rt().run([] {
        event has_asked;
        event has_gone;
        const raw_server s([&](net::tcp_stream& c) {
            if (read_head(c).empty()) return;
            has_asked.set();
            await_end(c);
            has_gone.set();
        });
        client c(direct());
        bool was_cancelled = false;
        scope([&](task_scope& inside) {
            inside.go([&] {
                try {
                    static_cast<void>(c.get(s.url()));
                } catch (const weft::cancelled&) {
                    was_cancelled = true;
                    throw;
                }
            });
            has_asked.wait();
            inside.cancel();
        });
        EXPECT_TRUE(was_cancelled);
        has_gone.wait();
        const raw_server works(answers("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"));
        EXPECT_EQ(c.get(works.url()).text(), "x") << "others are not affected";
    });
}

TEST_P(HttpClientHardTimes, ADeadlineAroundTheCallerApplies) {
    rt().run([] {
        event has_gone;
        const raw_server s([&](net::tcp_stream& c) {
            if (read_head(c).empty()) return;
            c.write_all(ok_head);
            await_end(c);
            has_gone.set();
        });
        client c(direct());
        EXPECT_THROW(with_timeout(50ms, [&] { return c.get(s.url()).status(); }), weft::timed_out);
        has_gone.wait();
    });
}

TEST_P(HttpClientHardTimes, AReplyThatIsDroppedClosesItsConnection) {
    rt().run([] {
        event has_gone;
        const raw_server s([&](net::tcp_stream& c) {
            if (read_head(c).empty()) return;
            c.write_all(ok_head);
            await_end(c);
            has_gone.set();
        });
        client c(direct());
        { const http::reply r = c.send({.url = s.url()}); }
        has_gone.wait();
    });
}

TEST_P(HttpClientHardTimes, ADestroyedClientEndsItsRequests) {
    rt().run([] {
        const raw_server silent([](net::tcp_stream& c) { await_end(c); });
        const raw_server begins([](net::tcp_stream& c) {
            if (read_head(c).empty()) return;
            c.write_all(std::string(ok_head) + "12345");
            await_end(c);
        });
        std::optional<client> c(std::in_place, direct());
        std::optional<http::reply> half = c->send({.url = begins.url()});
        std::array<char, 100> part;
        EXPECT_EQ(half->read_some(part), 5U);
        std::atomic<int> ended = 0;
        wait_group asking;
        for (int i = 0; i < 10; ++i) {
            asking.go([&] {
                if (code_of_failure([&] { static_cast<void>(c->get(silent.url())); }) == client_errc::client_closed)
                    ++ended;
            });
        }
        eventually([&] { return silent.accepted == 10; });
        c.reset();
        asking.wait();
        EXPECT_EQ(ended, 10);
        EXPECT_EQ(code_of_failure([&] { static_cast<void>(half->read_some(part)); }), client_errc::client_closed);
    });
}

}  // namespace
}  // namespace weft::test
