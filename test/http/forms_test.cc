// forms_test.cc: forms, files in forms, and cookies, in simulations.
#include <array>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/http/cookie.h>
#include <weft/http/form.h>
#include <weft/http/multipart.h>

#include "http/served.h"

namespace weft::test {
namespace {

using http::request;
using http::response;

std::string posted(const std::string& type, const std::string& body) {
    return request_text("POST /",
                        "Content-Type: " + type + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n", body);
}

WEFT_SIM_TEST_WITH(HttpForms, AreDecoded, few_schedules()) {
    const served s([](http::server& to) {
        to.handle("/", [](request& r, response& w) {
            const http::form f = r.form();
            std::string all;
            for (const auto& [name, value] : f) (((all += name) += '=') += value) += ';';
            EXPECT_EQ(f.get("nowhere"), std::nullopt);
            all += std::string(f.get("a b").value_or("none")) + ' ' + std::to_string(f.all("a b").size());
            w.send(all);
        });
    });
    const std::string type = "application/x-www-form-urlencoded";
    const auto answered = [&](const std::string& t, const std::string& body) {
        return raw_client(s).ask(posted(t, body));
    };
    EXPECT_EQ(answered(type, "a+b=%26+1&&c&a%20b=2&=x").body, "a b=& 1;c=;a b=2;=x;& 1 2");
    EXPECT_EQ(answered("APPLICATION/x-www-form-urlencoded; charset=utf-8", "").body, "none 0");
    EXPECT_EQ(answered(type, "a=%4").status, 400U);
    EXPECT_EQ(answered(type, "%zz=1").status, 400U);
    EXPECT_EQ(answered("text/plain", "a=1").status, 415U);
    std::string many;
    for (int i = 0; i < 1000; ++i) many += "a&";
    EXPECT_EQ(answered(type, many).status, 200U);
    EXPECT_EQ(answered(type, many + "b").status, 400U);
}

std::string multipart_body() {
    return "preamble\r\n"
           "--xx\r\n"
           "Content-Disposition: form-data; name=\"title\"\r\n\r\n"
           "a\r\n--x\r\nb\r\n"
           "--xx  \r\n"
           "content-disposition: form-data; name=\"file\"; filename=\"C:\\dir\\a \\\"b\\\".txt\"\r\n"
           "Content-Type: text/x\r\n\r\n"
           "\r\n--x" +
           std::string(20'000, '\n') +
           "\r\n--xx\r\n"
           "Content-Disposition: form-data; name=empty\r\n\r\n"
           "\r\n--xx--\r\nepilogue";
}

WEFT_SIM_TEST_WITH(HttpForms, WithFilesAreReadPartByPart, few_schedules()) {
    const served s([](http::server& to) {
        to.handle("/", [](request& r, response& w) {
            http::multipart f(r);
            std::string all;
            while (f.next()) {
                (((all += f.name()) += '|') += f.filename()) += '|';
                ((all += f.headers().get("Content-Type")) += '|') += std::to_string(f.text().size());
                all += '\n';
                EXPECT_EQ(f.text(), "") << "it was read";
            }
            EXPECT_FALSE(f.next());
            w.send(all);
        });
        to.handle("/skip", [](request& r, response& w) {
            http::multipart f(r);
            int parts = 0;
            std::array<char, 1> one{};
            for (; f.next(); ++parts) EXPECT_LE(f.read_some(one), 1U);
            w.send(std::to_string(parts));
        });
    });
    raw_client c(s);
    const std::string body = multipart_body();
    EXPECT_EQ(c.ask(posted("multipart/form-data; boundary=xx", body)).body,
              "title|||9\nfile|a \"b\".txt|text/x|20005\nempty|||0\n");
    std::string skipped = posted("Multipart/Form-Data; a=\"b;c\"; boundary=\"xx\"", body);
    skipped.replace(0, 6, "POST /skip");
    EXPECT_EQ(c.ask(skipped).body, "3");
}

WEFT_SIM_TEST_WITH(HttpForms, WithFilesHaveLimits, few_schedules()) {
    const served s([](http::server& to) {
        to.handle("/", [](request& r, response& w) {
            http::multipart f(r, {.parts_max = 2, .header_max = 100, .text_max = 10});
            while (f.next()) static_cast<void>(f.text());
            w.send("ok");
        });
    });
    const auto status_of = [&](const std::string& body, const std::string& type = "multipart/form-data; boundary=x") {
        return raw_client(s).ask(posted(type, body)).status;
    };
    const std::string head = "Content-Disposition: form-data; name=a\r\n";
    const std::string part = "--x\r\n" + head + "\r\n0123456789\r\n";
    EXPECT_EQ(status_of(part + part + "--x--"), 200U);
    EXPECT_EQ(status_of(part + part + part + "--x--"), 413U);
    EXPECT_EQ(status_of("--x\r\n" + head + "\r\n0123456789a\r\n--x--"), 413U);
    EXPECT_EQ(status_of("--x\r\n" + head + "X: " + std::string(80, 'x') + "\r\n\r\n1\r\n--x--"), 400U);
    EXPECT_EQ(status_of("--x\r\n" + head + "X: " + std::string(20'000, 'x')), 400U);
    EXPECT_EQ(status_of("--x\r\nX: y\r\n\r\n1\r\n--x--"), 400U) << "it has no name";
    EXPECT_EQ(status_of("--x\r\nContent-Disposition: attachment; name=a\r\n\r\n1\r\n--x--"), 400U);
    EXPECT_EQ(status_of("--x\r\nContent-Disposition: form-data; name=a; filename=\"b\r\n\r\n1\r\n--x--"), 400U)
        << "it would be a text";
    EXPECT_EQ(status_of("--x\r\nno colon\r\n\r\n1\r\n--x--"), 400U);
    EXPECT_EQ(status_of("--xy\r\n" + head + "\r\n1\r\n--x--"), 400U);
    EXPECT_EQ(status_of(part), 400U) << "it ends before the last boundary";
    EXPECT_EQ(status_of(""), 400U);
    EXPECT_EQ(status_of("--x--"), 200U) << "it has no part";
    for (const char* type : {"text/plain; boundary=x", "multipart/form-data", "multipart/form-data; boundary=",
                             "multipart/form-data; boundary=\"x", "multipart/form-data; boundary=x\x80"})
        EXPECT_EQ(status_of(part + "--x--", type), 415U) << type;
}

WEFT_SIM_TEST_WITH(HttpForms, CookiesAreSetAndRead, few_schedules()) {
    const served s([](http::server& to) {
        to.handle("/", [](request& r, response& w) {
            w.set_cookie({.name = "a", .value = "1"});
            w.set_cookie({.name = "b",
                          .value = "",
                          .path = "",
                          .domain = "example.com",
                          .secure = false,
                          .http_only = false,
                          .site = http::same_site::strict,
                          .max_age = -1s});
            w.set_cookie({.name = "c", .site = http::same_site::none, .max_age = 24h});
            const std::vector<http::cookie> bad = {{.name = "a b"},
                                                   {.name = ""},
                                                   {.name = "a", .value = "x;y"},
                                                   {.name = "a", .value = "x y"},
                                                   {.name = "a", .value = "\xc3\xbc"},
                                                   {.name = "a", .path = "/;x"},
                                                   {.name = "a", .secure = false, .site = http::same_site::none},
                                                   {.name = "__Host-a", .path = "/x"},
                                                   {.name = "__Secure-a", .secure = false}};
            for (const http::cookie& c : bad) EXPECT_THROW(w.set_cookie(c), std::invalid_argument) << c.name;
            w.send(std::string(r.cookie("a").value_or("none")) + '|' + std::string(r.cookie("b").value_or("none")) +
                   '|' + std::string(r.cookie("A").value_or("none")));
        });
    });
    const answer a = raw_client(s).ask(request_text("GET /", "Cookie: x=2; a=\"1=2\"; ab=3;a=4\r\ncookie: b=\r\n"));
    EXPECT_EQ(a.body, "1=2||none");
    EXPECT_TRUE(a.has("Set-Cookie: a=1; Path=/; Secure; HttpOnly; SameSite=Lax")) << a.head;
    EXPECT_TRUE(a.has("Set-Cookie: b=; Domain=example.com; Max-Age=0; SameSite=Strict")) << a.head;
    EXPECT_TRUE(a.has("Set-Cookie: c=; Path=/; Max-Age=86400; Secure; HttpOnly; SameSite=None")) << a.head;
}

}  // namespace
}  // namespace weft::test
