// files_test.cc: files and other content, over real sockets: conditions, ranges, and nothing
// outside of the folder.
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <weft/http/compress.h>
#include <weft/http/files.h>
#include <weft/runtime.h>

#include "http/served.h"
#include "support/temp_folder.h"

namespace weft::test {
namespace {

using http::request;
using http::response;

void write_text(const std::string& path, std::string_view text) { std::ofstream(path) << text; }

// A folder with files of known contents, and a runtime to serve them.
class HttpFiles : public ::testing::Test {
protected:
    HttpFiles() {
        write_text(outside_ / "secret", "secret");
        for (const char* folder : {"/sub", "/.hidden_folder", "/.well-known"})
            EXPECT_EQ(::mkdir((root_ + folder).c_str(), 0700), 0);
        write_text(root_ + "/a.txt", "0123456789");
        write_text(root_ + "/index.html", "<p>home</p>");
        write_text(root_ + "/sub/index.html", "below");
        write_text(root_ + "/.hidden", "hidden");
        write_text(root_ + "/.hidden_folder/x", "hidden");
        write_text(root_ + "/.well-known/x", "known");
    }

    template <typename F>
    void serve(const http::file_options& how, F test) {
        runtime_.run([&] {
            const served s([&](http::server& to) {
                to.handle("/{path...}", http::files(root_, how));
                to.handle("/static/", http::files(root_, how));
                to.handle("/one/{name}", http::files(root_, how));
                to.handle("GET /chosen", [&](request& r, response& w) { http::serve_file(r, w, root_ + "/a.txt"); });
                to.handle("GET /missing", [&](request& r, response& w) { http::serve_file(r, w, root_ + "/sub"); });
                to.handle("GET /compressed", [&](request& r, response& w) {
                    http::compress()(
                        r, w, [&](request& r2, response& w2) { http::serve_file(r2, w2, root_ + "/large.txt"); });
                });
                to.handle("/content", [](request& r, response& w) {
                    http::serve_content(r, w, "0123456789", {.type = "text/x", .tag = "\"v1\""});
                });
            });
            test(s);
        });
    }

    // The answer to a request on a connection of its own.
    static answer get(const served& from,
                      const std::string& target,
                      const std::string& fields = {},
                      const std::string& method = "GET") {
        raw_client c(from);
        c.send(request_text(method + " " + target, fields));
        return c.receive(method == "HEAD");
    }

    static std::string field(const answer& a, const std::string& name) {
        const std::size_t at = a.head.find("\r\n" + name + ": ");
        if (at == std::string::npos) return {};
        const std::size_t begin = at + name.size() + 4;
        return a.head.substr(begin, a.head.find("\r\n", begin) - begin);
    }

    temp_folder outside_;
    std::string root_ = [this] {
        const std::string path = outside_ / "root";
        EXPECT_EQ(::mkdir(path.c_str(), 0700), 0);
        return path;
    }();
    runtime runtime_;
};

TEST_F(HttpFiles, AreServedWithTheirTypes) {
    serve({}, [&](const served& s) {
        const std::vector<std::pair<std::string, std::pair<std::string, std::string>>> all = {
            {"/", {"text/html; charset=utf-8", "<p>home</p>"}},
            {"/a.txt?x=../y", {"text/plain; charset=utf-8", "0123456789"}},
            {"/static/a.txt", {"text/plain; charset=utf-8", "0123456789"}},
            {"/sub/", {"text/html; charset=utf-8", "below"}},
            {"/.well-known/x", {"application/octet-stream", "known"}},
            {"/chosen", {"text/plain; charset=utf-8", "0123456789"}},
            {"/content", {"text/x", "0123456789"}},
        };
        for (const auto& [target, expected] : all) {
            const answer a = get(s, target);
            EXPECT_EQ(a.status, 200U) << target;
            EXPECT_EQ(a.body, expected.second) << target;
            EXPECT_EQ(field(a, "Content-Type"), expected.first) << target;
            const answer head = get(s, target, {}, "HEAD");
            EXPECT_EQ(head.status, 200U) << target;
            for (const char* name : {"Content-Length", "Content-Type", "ETag", "Last-Modified", "Accept-Ranges"})
                EXPECT_EQ(field(head, name), field(a, name)) << name;
        }
    });
}

TEST_F(HttpFiles, OutsideAndHiddenOnesDoNotExist) {
    EXPECT_EQ(::symlink((outside_ / "secret").c_str(), (root_ + "/out").c_str()), 0);
    EXPECT_EQ(::symlink("..", (root_ + "/up").c_str()), 0);
    EXPECT_EQ(::symlink("sub/index.html", (root_ + "/inside").c_str()), 0);
    EXPECT_EQ(::mkfifo((root_ + "/fifo").c_str(), 0600), 0);
    const std::vector<std::pair<std::string, unsigned>> all = {
        {"/../secret", 400U},    {"/%2e%2e/secret", 400U},    {"/..%2fsecret", 400U},
        {"/sub/../a.txt", 400U}, {"/a.txt%00", 400U},         {"/out", 404U},
        {"/up/secret", 404U},    {"/.hidden", 404U},          {"/%2ehidden", 404U},
        {"/fifo", 404U},         {"/a.txt/", 404U},           {"/a.txt/x", 404U},
        {"/nowhere", 404U},      {"/.hidden_folder/x", 404U}, {"/.hidden_folder/", 404U},
        {"/missing", 404U},      {"/.well-known/", 404U},     {"/inside", 200U},
    };
    serve({}, [&](const served& s) {
        for (const auto& [target, status] : all) {
            const answer a = get(s, target);
            EXPECT_EQ(a.status, status) << target;
            EXPECT_EQ(a.body.find("secret"), std::string::npos);
        }
    });
    serve({.hidden = true, .links = false}, [&](const served& s) {
        EXPECT_EQ(get(s, "/.hidden").body, "hidden");
        EXPECT_EQ(get(s, "/inside").status, 404U);
    });
}

TEST_F(HttpFiles, FoldersAreRedirectedToASlash) {
    serve({}, [&](const served& s) {
        const std::vector<std::pair<std::string, std::string>> all = {
            {"/sub", "/sub/"}, {"/sub?q=1", "/sub/?q=1"}, {"/%2fsub", "/sub/"}, {"/static/sub", "/static/sub/"}};
        for (const auto& [target, to] : all) {
            const answer a = get(s, target);
            EXPECT_EQ(a.status, 301U) << target;
            EXPECT_EQ(field(a, "Location"), to);
        }
    });
    serve({.index = ""}, [&](const served& s) { EXPECT_EQ(get(s, "/sub/").status, 404U); });
}

TEST_F(HttpFiles, OtherMethodsAndPatternsAreRefused) {
    serve({}, [&](const served& s) {
        const answer a = get(s, "/a.txt", {}, "PUT");
        EXPECT_EQ(a.status, 405U);
        EXPECT_EQ(field(a, "Allow"), "GET, HEAD");
        EXPECT_EQ(get(s, "/one/a.txt").status, 500U);
        EXPECT_NE(s.reported.find("end it with a slash or {path...}"), std::string::npos) << s.reported;
    });
    EXPECT_THROW(http::files(root_ + "/nowhere"), std::system_error);
    EXPECT_THROW(http::files(root_ + "/a.txt"), std::system_error);
}

TEST_F(HttpFiles, ConditionsHaveTheOrderOfTheStandard) {
    serve({}, [&](const served& s) {
        const answer whole = get(s, "/a.txt");
        const std::string tag = field(whole, "ETag");
        const std::string date = field(whole, "Last-Modified");
        const std::string before = "Sun, 06 Nov 1994 08:49:37 GMT";
        const std::vector<std::pair<std::string, unsigned>> all = {
            {"If-None-Match: " + tag, 304},
            {"If-None-Match: \"x,y\", W/" + tag, 304},
            {"If-None-Match: \"x\"\r\nIf-None-Match: " + tag, 304},
            {"If-None-Match: *", 304},
            {"If-None-Match: \"x\"", 200},
            {"If-None-Match: nonsense, " + tag, 200},
            {"If-Modified-Since: " + date, 304},
            {"If-Modified-Since: " + before, 200},
            {"If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT", 200},
            {"If-Modified-Since: Sun Nov  6 08:49:37 1994", 200},
            {"If-Modified-Since: Sun Nov  6 08:49:37 9994", 304},
            {"If-Modified-Since: nonsense", 200},
            {"If-None-Match: \"x\"\r\nIf-Modified-Since: " + date, 200},
            {"If-Match: " + tag, 200},
            {"If-Match: *", 200},
            {"If-Match: \"x\"", 412},
            {"If-Match: W/" + tag, 412},
            {"If-Unmodified-Since: " + date, 200},
            {"If-Unmodified-Since: " + before, 412},
            {"If-Unmodified-Since: nonsense", 200},
            {"If-Match: " + tag + "\r\nIf-Unmodified-Since: " + before, 200},
            {"If-Match: \"x\"\r\nIf-None-Match: " + tag, 412},
            {"If-Match: " + tag + "\r\nIf-None-Match: " + tag, 304},
        };
        for (const auto& [fields, status] : all) {
            const answer a = get(s, "/a.txt", fields + "\r\n");
            EXPECT_EQ(a.status, status) << fields;
            if (status == 200) {
                EXPECT_EQ(a.body, "0123456789");
            }
            if (status == 304) {
                EXPECT_EQ(field(a, "ETag"), tag);
                EXPECT_EQ(field(a, "Content-Type"), "");
            }
        }
        write_text(root_ + "/a.txt", "987654321");
        EXPECT_EQ(get(s, "/a.txt", "If-None-Match: " + tag + "\r\n").body, "987654321");
        EXPECT_EQ(get(s, "/content", "If-None-Match: \"v1\"\r\n").status, 304U);
    });
}

TEST_F(HttpFiles, PartsAreServed) {
    serve({}, [&](const served& s) {
        for (const char* target : {"/a.txt", "/content"}) {
            const std::vector<std::pair<std::string, std::pair<std::string, std::string>>> all = {
                {"0-0", {"0", "0-0"}},          {"2-5", {"2345", "2-5"}},
                {"7-", {"789", "7-9"}},         {"-3", {"789", "7-9"}},
                {"-99", {"0123456789", "0-9"}}, {"5-99999999999999999999999", {"56789", "5-9"}}};
            for (const auto& [wanted, expected] : all) {
                const answer a = get(s, target, "Range: bytes=" + wanted + "\r\n");
                EXPECT_EQ(a.status, 206U) << wanted;
                EXPECT_EQ(a.body, expected.first);
                EXPECT_EQ(field(a, "Content-Range"), "bytes " + expected.second + "/10");
            }
            for (const char* wanted : {"10-", "10-20", "-0", "99999999999999999999999-"}) {
                const answer a = get(s, target, "Range: bytes=" + std::string(wanted) + "\r\n");
                EXPECT_EQ(a.status, 416U) << wanted;
                EXPECT_EQ(field(a, "Content-Range"), "bytes */10");
            }
            for (const char* ignored : {"bytes=5-2", "bytes=0-1,3-4", "bytes=x-", "bytes=", "bytes=-", "lines=1-2"})
                EXPECT_EQ(get(s, target, "Range: " + std::string(ignored) + "\r\n").status, 200U) << ignored;
            EXPECT_EQ(get(s, target, "Range: bytes=1-2\r\n", "HEAD").status, 200U);
        }
        write_text(root_ + "/empty.txt", "");
        for (const char* wanted : {"bytes=0-", "bytes=-5", "bytes=1-2"})
            EXPECT_EQ(get(s, "/empty.txt", "Range: " + std::string(wanted) + "\r\n").status, 200U) << wanted;
        const answer whole = get(s, "/a.txt");
        const std::vector<std::pair<std::string, unsigned>> all = {{field(whole, "ETag"), 206},
                                                                   {field(whole, "Last-Modified"), 206},
                                                                   {"\"other\"", 200},
                                                                   {"W/" + field(whole, "ETag"), 200},
                                                                   {"Sun, 06 Nov 1994 08:49:37 GMT", 200}};
        for (const auto& [condition, status] : all)
            EXPECT_EQ(get(s, "/a.txt", "Range: bytes=1-2\r\nIf-Range: " + condition + "\r\n").status, status);
    });
}

TEST_F(HttpFiles, LargeOnesVaryIfTheyMayBeCompressed) {
    write_text(root_ + "/large.txt", std::string(100'000, 'x'));
    serve({}, [&](const served& s) {
        const answer plain = get(s, "/compressed");
        EXPECT_EQ(field(plain, "Vary"), "Accept-Encoding") << plain.head;
        EXPECT_EQ(plain.body.size(), 100'000U);
        const answer smaller = get(s, "/compressed", "Accept-Encoding: gzip\r\n");
        EXPECT_EQ(field(smaller, "Vary"), "Accept-Encoding") << smaller.head;
        EXPECT_EQ(field(smaller, "Content-Encoding"), "gzip");
    });
}

TEST_F(HttpFiles, CompressedOnesAreServedToClientsThatAcceptThem) {
    write_text(root_ + "/a.txt.gz", "compressed");
    serve({.precompressed = true, .cache_control = "max-age=60"}, [&](const served& s) {
        const answer plain = get(s, "/a.txt");
        EXPECT_EQ(plain.body, "0123456789");
        EXPECT_EQ(field(plain, "Vary"), "Accept-Encoding");
        EXPECT_EQ(field(plain, "Cache-Control"), "max-age=60");
        for (const char* accepted : {"gzip", "br, GZIP;q=0.1", "*", "gzip, *;q=0"}) {
            const answer a = get(s, "/a.txt", "Accept-Encoding: " + std::string(accepted) + "\r\n");
            EXPECT_EQ(a.body, "compressed") << accepted;
            EXPECT_EQ(field(a, "Content-Encoding"), "gzip");
            EXPECT_EQ(field(a, "Content-Type"), "text/plain; charset=utf-8");
            EXPECT_EQ(field(a, "Vary"), "Accept-Encoding");
            EXPECT_NE(field(a, "ETag"), field(plain, "ETag"));
        }
        for (const char* refused : {"br", "gzip;q=0", "gzip; q=0.000", "identity", "*, gzip;q=0"})
            EXPECT_EQ(get(s, "/a.txt", "Accept-Encoding: " + std::string(refused) + "\r\n").body, "0123456789")
                << refused;
        EXPECT_EQ(get(s, "/sub/", "Accept-Encoding: gzip\r\n").body, "below");
    });
}

}  // namespace
}  // namespace weft::test
