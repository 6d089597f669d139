// client_test.cc: requests of a client, against a server of weft::http in the same process.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include <weft/http/client.h>

#include "http_client/served.h"

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

}  // namespace
}  // namespace weft::test
