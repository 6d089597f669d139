// router_test.cc: which handler a request is for, and which patterns conflict.
#include "http/router.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "http/target.h"

namespace weft::http::detail {
namespace {

std::string why_not(std::string_view text) {
    try {
        static_cast<void>(pattern::parse(text));
        return {};
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
}

TEST(HttpPattern, RefusesMalformedOnesAndSaysWhy) {
    for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{{"", "GET /path"},
                                                                                    {"GET", "GET /path"},
                                                                                    {"users", "GET /path"},
                                                                                    {"G(T /", "must be a method"},
                                                                                    {"GET users", "GET /path"},
                                                                                    {"/a b", "must be a method"},
                                                                                    {"GET /a b", "no space"},
                                                                                    {"/a?b", "no query"},
                                                                                    {"/a//b", "no empty segment"},
                                                                                    {"/a/../b", "no request has"},
                                                                                    {"/{", "whole segment"},
                                                                                    {"/{}", "letters"},
                                                                                    {"/{a-b}", "letters"},
                                                                                    {"/x{a}", "whole segment"},
                                                                                    {"/{a}x", "whole segment"},
                                                                                    {"/{a...}/b", "at the end"},
                                                                                    {"/{$}/b", "at the end"},
                                                                                    {"/{a}/{a}", "{a} twice"},
                                                                                    {"/%zz", "percent sign"}}) {
        EXPECT_NE(why_not(text).find(why), std::string::npos) << text << ": " << why_not(text);
    }
    for (const char* text :
         {"/", "GET /", "GET  /a/b", "/{a}", "/{a}/b/{c...}", "/{$}", "/a/", "/a%20b", "M-SEARCH /x"})
        EXPECT_EQ(why_not(text), "") << text;
}

TEST(HttpPattern, ComparesAsTheSetsOfRequests) {
    for (const auto& [a, b, how] :
         std::vector<std::tuple<std::string, std::string, relation>>{{"/a", "/a", relation::equal},
                                                                     {"/{x}", "/{y}", relation::equal},
                                                                     {"/a/", "/a/{rest...}", relation::equal},
                                                                     {"/a", "/b", relation::disjoint},
                                                                     {"/a", "/a/", relation::disjoint},
                                                                     {"/a", "/{x}", relation::more_specific},
                                                                     {"/{x}", "/a", relation::more_general},
                                                                     {"/a/b", "/a/{x...}", relation::more_specific},
                                                                     {"/a/{$}", "/a/", relation::more_specific},
                                                                     {"/{$}", "/{x}", relation::disjoint},
                                                                     {"/a/{x}", "/{y}/b", relation::overlap},
                                                                     {"/a/{x...}", "/{y}/b", relation::overlap},
                                                                     {"GET /a", "POST /a", relation::disjoint},
                                                                     {"GET /a", "/a", relation::more_specific},
                                                                     {"HEAD /a", "GET /a", relation::more_specific},
                                                                     {"GET /{x}", "/a", relation::overlap},
                                                                     {"GET /a", "/{x}", relation::more_specific},
                                                                     {"GET /", "/{x...}", relation::more_specific},
                                                                     {"/a/{x}/c", "/a/b/{y...}", relation::overlap}}) {
        EXPECT_EQ(compare(pattern::parse(a), pattern::parse(b)), how) << a << " and " << b;
    }
}

class routes {
public:
    explicit routes(const std::vector<std::string>& patterns) {
        for (const std::string& p : patterns) router_.add(p, [](request&, response&) {});
    }

    // The pattern that is found, and what its names stand for: "GET /{id} id=7".
    std::string find(std::string_view method, std::string_view path) const {
        router::params found;
        const router::route* r = router_.find(method, path, found);
        if (r == nullptr) return "";
        std::string text = r->fits.text;
        for (const auto& [name, value] : found) ((((text += ' ') += name) += '=') += value);
        return text;
    }

    [[nodiscard]] const router& all() const { return router_; }

private:
    router router_;
};

TEST(HttpRouter, FindsTheMostSpecificPatternInAnyOrder) {
    std::vector<std::string> patterns = {"/",
                                         "GET /users/{id}",
                                         "GET /users/me",
                                         "POST /users/{id}",
                                         "/files/{$}",
                                         "/files/{p...}",
                                         "/files/a/{x}/info",
                                         "HEAD /users/me",
                                         "/zoo/{any}/last",
                                         "/a%2Fb"};
    for (int i = 0; i < 2; ++i) {
        const routes r(patterns);
        EXPECT_EQ(r.find("GET", "/"), "/ =");
        EXPECT_EQ(r.find("GET", "/x/y"), "/ =x/y");
        EXPECT_EQ(r.find("GET", "/users/7"), "GET /users/{id} id=7");
        EXPECT_EQ(r.find("HEAD", "/users/7"), "GET /users/{id} id=7");
        EXPECT_EQ(r.find("POST", "/users/me"), "POST /users/{id} id=me");
        EXPECT_EQ(r.find("GET", "/users/me"), "GET /users/me");
        EXPECT_EQ(r.find("HEAD", "/users/me"), "HEAD /users/me");
        EXPECT_EQ(r.find("DELETE", "/users/7"), "/ =users/7");
        EXPECT_EQ(r.find("GET", "/files/"), "/files/{$}");
        EXPECT_EQ(r.find("GET", "/files/a/b"), "/files/{p...} p=a/b");
        EXPECT_EQ(r.find("GET", "/files/a/b/info"), "/files/a/{x}/info x=b");
        EXPECT_EQ(r.find("GET", "/files/a/b/other"), "/files/{p...} p=a/b/other");
        EXPECT_EQ(r.find("GET", "/zoo/x/last"), "/zoo/{any}/last any=x");
        EXPECT_EQ(r.find("GET", "/a%2fb"), "/a%2Fb");
        EXPECT_EQ(r.find("GET", "/users/a%2Fb%20c"), "GET /users/{id} id=a/b c");
        std::reverse(patterns.begin(), patterns.end());
    }
}

TEST(HttpRouter, DoesNotTakeAnEmptySegmentForAName) {
    const routes r({"/users/{id}", "/users/{id}/x"});
    EXPECT_EQ(r.find("GET", "/users/"), "");
    EXPECT_EQ(r.find("GET", "/users//x"), "");
    EXPECT_EQ(r.find("GET", "/users"), "");
}

TEST(HttpRouter, RefusesConflictsAndNamesBoth) {
    const std::vector<std::pair<std::string, std::string>> all = {
        {"/a/{x}", "/{y}/b"}, {"GET /{x}", "/a"}, {"/{x}", "/{y}"}, {"/a/", "/a/{r...}"}};
    for (const auto& [first, second] : all) {
        router r;
        r.add(first, [](request&, response&) {});
        try {
            r.add(second, [](request&, response&) {});
            ADD_FAILURE() << first << " and " << second;
        } catch (const std::invalid_argument& e) {
            EXPECT_NE(std::string(e.what()).find('"' + first + '"'), std::string::npos) << e.what();
            EXPECT_NE(std::string(e.what()).find('"' + second + '"'), std::string::npos) << e.what();
        }
    }
}

TEST(HttpRouter, ListsTheMethodsOfAPath) {
    const routes r({"GET /a", "POST /a", "DELETE /{x}", "/any/x"});
    EXPECT_EQ(r.all().allowed("/a"), "DELETE, GET, HEAD, POST");
    EXPECT_EQ(r.all().allowed("/b"), "DELETE");
    EXPECT_EQ(r.all().allowed("/b/c"), "");
}

TEST(HttpTarget, SplitsPathAndQuery) {
    EXPECT_EQ(split("/a?b?c")->path, "/a");
    EXPECT_EQ(split("/a?b?c")->query, "b?c");
    EXPECT_EQ(split("HTTP://localhost:1/a?b")->path, "/a");
    EXPECT_EQ(split("https://localhost")->path, "/");
    EXPECT_EQ(split("*")->path, "*");
    EXPECT_FALSE(split("*?"));
    EXPECT_FALSE(split("a/b"));
    EXPECT_FALSE(split("ftp://localhost/a"));
    EXPECT_FALSE(split(""));
}

TEST(HttpTarget, KnowsTheHost) {
    EXPECT_EQ(split("HTTP://localhost:1/a?b")->authority, "localhost:1");
    EXPECT_EQ(split("https://localhost?x")->authority, "localhost");
    EXPECT_EQ(split("/a")->authority, "");
    EXPECT_FALSE(split("http:///a"));
}

TEST(HttpTarget, CleansPaths) {
    for (const char* path : {"/", "/a", "/a/", "/a/b.c/..x/.y/%2f/%2e%2e", "/%2ex"})
        EXPECT_FALSE(clean_path(path)) << path;
    for (const auto& [path, clean] : std::vector<std::pair<std::string, std::string>>{{"//", "/"},
                                                                                      {"/.", "/"},
                                                                                      {"/./", "/"},
                                                                                      {"//a", "/a"},
                                                                                      {"/a//", "/a/"},
                                                                                      {"/a/.", "/a/"},
                                                                                      {"/a/%2E/b", "/a/b"}})
        EXPECT_EQ(clean_path(path), clean) << path;
}

TEST(HttpTarget, RefusesPathsThatClimb) {
    for (const char* path : {"/..", "/a/../b", "/a/..", "/%2e%2e/b", "/.%2E", "/a/%2e./b", "/%00", "/%", "/%4", "/%4g",
                             "/..%2fx", "/a%2f..%2fx"})
        EXPECT_FALSE(decoded_path(path)) << path;
    EXPECT_EQ(decoded_path("/a%20b/...//.x/..y/z../%c3%bc"), "/a b/...//.x/..y/z../\xc3\xbc");
}

}  // namespace
}  // namespace weft::http::detail
