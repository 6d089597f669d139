// client_test.cc: requests of a client, against a server of weft::http in the same process.
#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <weft/http/client.h>

#include "http_client/served.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using http::client;
using http::client_errc;
using http::request;
using http::response;

using HttpClient = client_test;
WEFT_SWEEP_OVER(HttpClient, 1U, 4U);

TEST_P(HttpClient, GetsAReply) {
    rt().run([] {
        const web s([](http::server& to) {
            to.handle("GET /users/{id}", [](request& r, response& w) {
                w.set("X-Kind", "user");
                w.send("user " + std::string(r.param("id")));
            });
        });
        client c(direct());
        const http::reply r = c.get(s.url("/users/7"));
        EXPECT_EQ(r.status(), 200U);
        EXPECT_TRUE(r.ok());
        EXPECT_EQ(r.text(), "user 7");
        EXPECT_EQ(r.header("x-kind"), "user");
        EXPECT_EQ(r.version(), 11U);
        EXPECT_EQ(r.url(), s.url("/users/7"));
        const http::reply none = c.get(s.url("/nowhere"));
        EXPECT_EQ(none.status(), 404U);
        EXPECT_FALSE(none.ok());
    });
}

TEST_P(HttpClient, SendsMethodFieldsAndBody) {
    rt().run([] {
        const web s([](http::server& to) {
            to.handle("/", [](request& r, response& w) {
                std::string said = std::string(r.method()) + "|" + std::string(r.header("Content-Type")) + "|" +
                                   std::string(r.header("User-Agent")) + "|" + std::string(r.header("X-A")) + "|" +
                                   std::string(r.headers().has("X-Empty") ? "empty" : "none") + "|" +
                                   std::string(r.headers().has("Expect") ? "expect" : "none") + "|";
                w.set("X-Said", said + r.body());
            });
        });
        client c(direct());
        EXPECT_EQ(c.post(s.url("/"), "text", "text/x").header("X-Said"), "POST|text/x|weft||none|none|text");
        EXPECT_EQ(c.post(s.url("/"), "").header("X-Said"), "POST|text/plain; charset=utf-8|weft||none|none|");
        http::client_request r{.method = "PATCH", .url = s.url("/"), .body = "ab"};
        r.headers.set("X-A", "b");
        r.headers.set("X-Empty", "");
        EXPECT_EQ(c.send(r).header("X-Said"), "PATCH||weft|b|empty|none|ab");
        r = {.method = "DELETE", .url = s.url("/")};
        EXPECT_EQ(c.send(r).header("X-Said"), "DELETE||weft||none|none|");
        r = {.method = "HEAD", .url = s.url("/")};
        http::reply head = c.send(r);
        EXPECT_EQ(head.header("X-Said"), "HEAD||weft||none|none|");
        EXPECT_EQ(head.body(), "");
    });
}

TEST_P(HttpClient, FreeFunctionsNeedNoClient) {
    rt().run([] {
        const web s([](http::server& to) {
            to.handle("/", [](request& r, response& w) { w.send(std::string(r.method()) + r.body()); });
        });
        EXPECT_EQ(http::get(s.url("/")).text(), "GET");
        EXPECT_EQ(http::post(s.url("/"), "x").text(), "POSTx");
    });
}

TEST_P(HttpClient, ReusesConnections) {
    rt().run([] {
        const web s([](http::server& to) { to.handle("/", [](request&, response& w) { w.send("x"); }); });
        client c(direct());
        for (int i = 0; i < 20; ++i) EXPECT_EQ(c.get(s.url("/")).status(), 200U);
        EXPECT_EQ(s.stats().connections, 1U);
    });
}

TEST_P(HttpClient, ManyRequestsShareFewConnections) {
    rt().run([] {
        constexpr unsigned most = 50;
        std::atomic<unsigned> at_once = 0;
        std::atomic<unsigned> peak = 0;
        const web s([&](http::server& to) {
            to.handle("/{n}", [&](request& r, response& w) {
                const unsigned now = ++at_once;
                for (unsigned seen = peak; now > seen && !peak.compare_exchange_weak(seen, now);) continue;
                weft::sleep_for(1ms);
                --at_once;
                w.send(r.param("n"));
            });
        });
        http::client_options how = direct();
        how.connections_per_host = most;
        client c(how);
        const int count = scaled(1000);
        std::atomic<int> right = 0;
        wait_group asking;
        for (int i = 0; i < count; ++i) {
            asking.go([&, i] {
                if (c.get(s.url("/" + std::to_string(i))).text() == std::to_string(i)) ++right;
            });
        }
        asking.wait();
        EXPECT_EQ(right, count);
        EXPECT_LE(peak, most);
        EXPECT_LE(s.stats().connections, most);
        EXPECT_GE(s.stats().connections, 2U);
    });
}

TEST_P(HttpClient, FollowsRedirectsByTheRulesOfEachStatus) {
    rt().run([] {
        const web s([](http::server& to) {
            to.handle("/to/{code}", [](request& r, response& w) {
                w.redirect("../end", static_cast<unsigned>(std::stoi(std::string(r.param("code")))));
            });
            to.handle("/end", [](request& r, response& w) { w.send(std::string(r.method()) + r.body()); });
            to.handle("/circle", [](request&, response& w) { w.redirect("/circle"); });
        });
        client c(direct());
        for (const char* code : {"301", "302", "303"}) {
            EXPECT_EQ(c.post(s.url("/to/") + code, "x").text(), "GET") << code;
            http::client_request r{.method = "PUT", .url = s.url("/to/") + code, .body = "x"};
            EXPECT_EQ(c.send(r).body(), "GET") << code;
        }
        for (const char* code : {"307", "308"}) EXPECT_EQ(c.post(s.url("/to/") + code, "x").text(), "POSTx") << code;
        const http::reply r = c.get(s.url("/to/302"));
        EXPECT_EQ(r.url(), s.url("/end"));
        EXPECT_EQ(r.redirects(), 1U);
        EXPECT_EQ(code_of_failure([&] { static_cast<void>(c.get(s.url("/circle"))); }),
                  client_errc::too_many_redirects);
        EXPECT_EQ(s.stats().connections, 1U) << "the bodies of redirects were read";

        http::client_options how = direct();
        how.redirects_max = 0;
        EXPECT_EQ(client(how).get(s.url("/circle")).status(), 302U);
    });
}

TEST_P(HttpClient, KeepsCredentialsFromOtherOrigins) {
    rt().run([] {
        const auto says = [](http::server& to) {
            to.handle("/", [](request& r, response& w) {
                w.send(std::string(r.header("Authorization")) + "|" + std::string(r.header("X-Other")));
            });
        };
        const web other(says);
        const web s([&](http::server& to) {
            says(to);
            to.handle("/away", [&](request&, response& w) { w.redirect(other.url("/")); });
            to.handle("/here", [&](request&, response& w) { w.redirect("/"); });
        });
        client c(direct());
        http::client_request r{.url = s.url("/here")};
        r.headers.set("Authorization", "secret");
        r.headers.set("X-Other", "x");
        EXPECT_EQ(c.send(r).body(), "secret|x");
        r.url = s.url("/away");
        EXPECT_EQ(c.send(r).body(), "|x");
    });
}

TEST_P(HttpClient, RefusesWhatNoServerIsAskedFor) {
    rt().run([] {
        client c(direct());
        for (const char* url : {"", "127.0.0.1/", "ftp://127.0.0.1/", "http://", "http://127.0.0.1:99999/",
                                "http://127.0.0.1 x/", "http://127.0.0.1/a b"}) {
            EXPECT_EQ(code_of_failure([&] { static_cast<void>(c.get(url)); }), client_errc::bad_url) << url;
        }
        EXPECT_THROW(static_cast<void>(c.send({.method = "A B", .url = "http://127.0.0.1/"})), std::invalid_argument);
        EXPECT_THROW(static_cast<void>(c.send({.method = "", .url = "http://127.0.0.1/"})), std::invalid_argument);
        for (const auto change : std::vector<void (*)(http::client_options&)>{
                 [](auto& o) { o.connect_time = 0s; }, [](auto& o) { o.idle_time = -1s; },
                 [](auto& o) { o.total_time = 0s; }, [](auto& o) { o.buffer_size = 0; }}) {
            http::client_options how = direct();
            change(how);
            EXPECT_THROW(client{how}, std::invalid_argument);
        }
    });
}

TEST_P(HttpClient, SaysWhatFailedAndWhatToDo) {
    rt().run([] {
        client c(direct());
        const std::string with_password = std::string("http://") + "name:secret@127.0.0.1:1/x";
        try {
            static_cast<void>(c.get(with_password));
            ADD_FAILURE() << "port 1 answers";
        } catch (const std::system_error& e) {
            const std::string text = e.what();
            EXPECT_EQ(e.code(), client_errc::could_not_connect);
            EXPECT_EQ(e.code(), std::errc::connection_refused);
            EXPECT_TRUE(text.starts_with("weft: GET http://127.0.0.1:1/x (")) << text;
            EXPECT_NE(text.find("check the port, and that the server runs"), std::string::npos) << text;
        }
    });
}

TEST_P(HttpClient, KeepsCookiesOnlyIfAsked) {
    rt().run([] {
        const web s([](http::server& to) {
            to.handle("/set", [](request&, response& w) { w.set("Set-Cookie", "a=b; Path=/"); });
            to.handle("/", [](request& r, response& w) { w.send(r.header("Cookie")); });
        });
        for (const bool keeps : {true, false}) {
            http::client_options how = direct();
            how.cookies = keeps;
            client c(how);
            EXPECT_EQ(c.get(s.url("/set")).status(), 200U);
            EXPECT_EQ(c.get(s.url("/")).text(), keeps ? "a=b" : "");
        }
    });
}

// "hello, hello, hello" as a gzip file.
constexpr unsigned char zipped_hello[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
                                          0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0xd7, 0x51, 0xc8, 0x40, 0xa2,
                                          0x00, 0x9f, 0xa1, 0xca, 0x09, 0x13, 0x00, 0x00, 0x00};

TEST_P(HttpClient, DecompressesBodies) {
    rt().run([] {
        const std::string zipped(reinterpret_cast<const char*>(zipped_hello), sizeof zipped_hello);
        const web s([&](http::server& to) {
            to.handle("/", [&](request& r, response& w) {
                w.set("X-Accepts", r.headers().has_token("Accept-Encoding", "gzip") ? "gzip" : "none");
                w.set("Content-Encoding", "gzip");
                w.write(zipped);
            });
            to.handle("/bad", [&](request&, response& w) {
                w.set("Content-Encoding", "gzip");
                w.write("this is no gzip at all");
            });
        });
        client c(direct());
        const http::reply r = c.get(s.url("/"));
        EXPECT_EQ(r.header("X-Accepts"), "gzip");
        EXPECT_EQ(r.text(), "hello, hello, hello");
        EXPECT_EQ(code_of_failure([&] { static_cast<void>(c.get(s.url("/bad"))); }), client_errc::bad_encoding);
        http::client_options how = direct();
        how.decompress = false;
        const http::reply raw = client(how).get(s.url("/"));
        EXPECT_EQ(raw.header("X-Accepts"), "none");
        EXPECT_EQ(raw.text(), zipped);
    });
}

TEST_P(HttpClient, LimitsTheSizeOfBodies) {
    rt().run([] {
        const web s([](http::server& to) {
            to.handle("/known", [](request&, response& w) { w.send(std::string(1001, 'x')); });
            to.handle("/chunks", [](request&, response& w) {
                for (int i = 0; i < 1001; ++i) {
                    w.write("x");
                    if (i == 500) w.flush();
                }
            });
            to.handle("/fits", [](request&, response& w) { w.send(std::string(1000, 'x')); });
        });
        http::client_options how = direct();
        how.body_max = 1000;
        client c(how);
        EXPECT_EQ(c.get(s.url("/fits")).text().size(), 1000U);
        for (const char* path : {"/known", "/chunks"})
            EXPECT_EQ(code_of_failure([&] { static_cast<void>(c.get(s.url(path))); }), client_errc::body_too_large)
                << path;
    });
}

TEST_P(HttpClient, AsksAProxy) {
    rt().run([] {
        const web proxy([](http::server& to) {
            to.handle("/", [](request& r, response& w) {
                w.send("proxy: " + std::string(r.host()) + std::string(r.target()));
            });
        });
        http::client_options how;
        how.proxy = proxy.url("");
        client c(how);
        EXPECT_EQ(c.get("http://nowhere.example/").text(),
                  "proxy: nowhere.example"
                  "http://nowhere.example/");
    });
}

}  // namespace
}  // namespace weft::test
