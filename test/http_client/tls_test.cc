// tls_test.cc: requests over TLS, against a server of weft::tls.
#ifdef WEFT_TEST_WITH_TLS

#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include <weft/http/client.h>
#include <weft/tls/stream.h>

#include "http_client/served.h"
#include "support/temp_folder.h"
#include "tls/certificates.h"

namespace weft::test {
namespace {

using http::client;
using http::client_errc;

// A server for 127.0.0.1 whose certificate the test authority has signed.
class secured_web {
public:
    explicit secured_web(const certificate_options& of = {.hosts = {"127.0.0.1"}})
        : context_(tls::context::server({.own = {test_authority().issue(of)}, .protocols = {"http/1.1"}})) {
        server_.handle("/", [](http::request& r, http::response& w) { w.send(r.is_secure() ? "secure" : "plain"); });
        serving_.go([this] {
            server_.serve(listener_, [this](net::tcp_stream c) { return tls::stream::server(std::move(c), context_); });
        });
    }

    ~secured_web() {
        server_.shutdown(0s);
        serving_.wait();
    }

    secured_web(const secured_web&) = delete;
    secured_web& operator=(const secured_web&) = delete;

    [[nodiscard]] std::string url() const {
        return "https://127.0.0.1:" + std::to_string(listener_.local_endpoint().port()) + "/";
    }

    [[nodiscard]] http::server_stats stats() const { return server_.stats(); }

private:
    tls::context context_;
    http::server server_;
    net::tcp_listener listener_{net::endpoint::loopback(0)};
    wait_group serving_;
};

class HttpClientTls : public client_test {
protected:
    static void SetUpTestSuite() {
        client_test::SetUpTestSuite();
        runtime one({.procs = 1});
        one.run([] {
            const secured_web s;
            http::client_options how = direct();
            how.verify = false;
            static_cast<void>(client(how).get(s.url()));
        });
    }

    HttpClientTls() { std::ofstream(ca_file_) << test_authority().pem(); }

    [[nodiscard]] http::client_options trusting() const {
        http::client_options how = direct();
        how.ca_file = ca_file_;
        return how;
    }

private:
    temp_folder folder_;
    std::string ca_file_ = folder_ / "ca.pem";
};

WEFT_SWEEP_OVER(HttpClientTls, 1U, 4U);

TEST_P(HttpClientTls, TrustsTheAuthoritiesOfTheFile) {
    rt().run([&] {
        const secured_web s;
        client c(trusting());
        for (int i = 0; i < 3; ++i) EXPECT_EQ(c.get(s.url()).text(), "secure");
        EXPECT_EQ(s.stats().connections, 1U);
    });
}

TEST_P(HttpClientTls, TrustsNoOther) {
    rt().run([&] {
        const secured_web s;
        EXPECT_EQ(code_of_failure([&] { static_cast<void>(client(direct()).get(s.url())); }), client_errc::not_trusted);
        http::client_options how = direct();
        how.verify = false;
        EXPECT_EQ(client(how).get(s.url()).text(), "secure");
    });
}

TEST_P(HttpClientTls, ChecksHostAndDates) {
    rt().run([&] {
        const secured_web other({.hosts = {"example.test"}});
        const secured_web old({.hosts = {"127.0.0.1"}, .valid_from = -7200, .valid_until = -3600});
        client c(trusting());
        EXPECT_EQ(code_of_failure([&] { static_cast<void>(c.get(other.url())); }), client_errc::not_trusted);
        EXPECT_EQ(code_of_failure([&] { static_cast<void>(c.get(old.url())); }), client_errc::not_trusted);
    });
}

TEST_P(HttpClientTls, FailsIfTheServerSpeaksNoTls) {
    rt().run([&] {
        const web s([](http::server& to) { to.handle("/", [](http::request&, http::response& w) { w.send("x"); }); });
        client c(trusting());
        const std::string url = "https" + s.url("/").substr(4);
        EXPECT_EQ(code_of_failure([&] { static_cast<void>(c.get(url)); }), client_errc::tls_failed);
    });
}

TEST_P(HttpClientTls, SurvivesAServerThatClosesWhileItSends) {
    rt().run([&] {
        const tls::context context = tls::context::server(
            {.own = {test_authority().issue({.hosts = {"127.0.0.1"}})}, .protocols = {"http/1.1"}});
        const raw_server s([&](net::tcp_stream& c) {
            tls::stream secured = tls::stream::server(std::move(c), context);
            std::array<char, 1000> part;
            static_cast<void>(secured.read_some(part));
            secured.close();
        });
        client c(trusting());
        const std::string url = "https" + s.url().substr(4);
        for (int i = 0; i < 3; ++i) {
            const std::error_code ec =
                code_of_failure([&] { static_cast<void>(c.post(url, std::string(10'000'000, 'x'))); });
            EXPECT_EQ(ec, client_errc::connection_lost);
        }
    });
}

}  // namespace
}  // namespace weft::test

#endif
