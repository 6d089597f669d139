// policy_test.cc: redirects, retries and URLs, without a server.
#include "http_client/policy.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

#include <weft/backoff.h>
#include <weft/http/client.h>

#include "http_client/status_line.h"
#include "http_client/urls.h"

namespace weft::http::detail {
namespace {

using namespace std::chrono_literals;

TEST(HttpClientPolicy, RetryAfterIsSecondsOrADate) {
    EXPECT_EQ(retry_after("0"), 0s);
    EXPECT_EQ(retry_after("120"), 120s);
    EXPECT_EQ(retry_after("Sun, 06 Nov 1994 08:49:37 GMT"), 0s) << "a date that has passed";
    EXPECT_GT(retry_after("Fri, 01 Jan 2100 00:00:00 GMT").value_or(0s), 24h);
    for (const char* bad : {"", "soon", "1x", "99999999999999999999"}) EXPECT_FALSE(retry_after(bad)) << bad;
}

TEST(HttpClientPolicy, PausesAreDoubledAndLimited) {
    const client_options how{.retry_delay = 100ms, .retry_delay_max = 350ms};
    EXPECT_EQ(retry_pause(how, 0, 0), 50ms);
    EXPECT_EQ(retry_pause(how, 1, 0), 100ms);
    EXPECT_EQ(retry_pause(how, 2, 0), 175ms);
    for (unsigned retries : {0U, 1U, 2U, 3U, 1000U}) {
        for (int i = 0; i < 100; ++i) {
            const auto pause = retry_pause(how, retries, weft::detail::backoff_random());
            EXPECT_GE(pause, 50ms);
            EXPECT_LE(pause, 350ms);
        }
    }
    EXPECT_NE(weft::detail::backoff_random(), weft::detail::backoff_random());
}

TEST(HttpClientPolicy, OnlySomeMethodsMayBeRepeated) {
    for (const char* method : {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"}) EXPECT_TRUE(is_idempotent(method));
    for (const char* method : {"POST", "PATCH", "get", "LOCK"}) EXPECT_FALSE(is_idempotent(method)) << method;
}

TEST(HttpClientPolicy, StatusLines) {
    EXPECT_EQ(parsed_status_line("HTTP/1.1 200 OK").status, 200U);
    EXPECT_EQ(parsed_status_line("HTTP/1.0 404").version, 10U);
    EXPECT_EQ(parsed_status_line("HTTP/2 404 ").version, 20U);
    for (const char* bad : {"", "HTTP/1.1", "HTTP/1.1 x", "ICY 200"}) EXPECT_EQ(parsed_status_line(bad).status, 0U);
}

TEST(HttpClientPolicy, RedirectsLeadRelativeToTheirPage) {
    const std::string from = "http://example.com:81/a/b?c#d";
    EXPECT_EQ(redirect_target(from, "e"), "http://example.com:81/a/e");
    EXPECT_EQ(redirect_target(from, "/e?f"), "http://example.com:81/e?f");
    EXPECT_EQ(redirect_target(from, "https://example.org/"), "https://example.org/");
    EXPECT_THROW(static_cast<void>(redirect_target(from, "file:///etc/passwd")), std::system_error);
}

TEST(HttpClientPolicy, OriginsDifferInSchemeHostOrPort) {
    EXPECT_TRUE(same_origin("http://localhost/a", std::string("http:") + "//LOCALHOST:80/b"));
    for (const char* other : {"https://example.com/", "http://example.org/", "http://example.com:81/"})
        EXPECT_FALSE(same_origin("http://example.com/", other)) << other;
}

TEST(HttpClientPolicy, MessagesHaveNoPasswords) {
    const std::string rest = "example.com/x@y";
    EXPECT_EQ(without_password("http://" + std::string("a:b@") + rest), "http://" + rest);
    EXPECT_EQ(without_password("http://" + rest), "http://" + rest);
    EXPECT_EQ(without_password(std::string("a:b@") + "example.com"), "example.com");
}

TEST(HttpClientPolicy, EveryErrorHasAText) {
    for (int code = 1; code <= static_cast<int>(client_errc::failed); ++code)
        EXPECT_FALSE(client_category().message(code).starts_with("unknown")) << code;
    EXPECT_EQ(client_category().message(99), "unknown error 99");
}

}  // namespace
}  // namespace weft::http::detail
