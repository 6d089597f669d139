// http2_interop_test.cc: clients of others: curl, nghttp, h2load and httpx, without TLS and with
// it. The same server also answers clients of HTTP/1.1.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/http/server.h>
#include <weft/net/tcp.h>
#include <weft/process.h>
#include <weft/weft.h>

#include "support/temp_folder.h"
#ifdef WEFT_TEST_WITH_TLS
#include <weft/tls/stream.h>

#include "tls/certificates.h"
#endif

namespace weft::test {
namespace {

using namespace std::chrono_literals;

bool is_installed(const std::string& program) {
    return std::filesystem::exists("/usr/bin/" + program) || std::filesystem::exists("/usr/local/bin/" + program);
}

void add_interop_handlers(http::server& to) {
    to.handle("GET /{$}", [](http::request& r, http::response& w) {
        w.send("hello over HTTP/" + std::to_string(r.version() / 10) + (r.is_secure() ? ", secure\n" : "\n"));
    });
    to.handle("POST /echo", [](http::request& r, http::response& w) {
        std::vector<char> part(10'000);
        while (const std::size_t n = r.read_some(part)) w.write(std::string_view(part.data(), n));
        w.trailer("X-End", "yes");
    });
    to.handle("POST /count", [](http::request& r, http::response& w) { w.send(std::to_string(r.body().size())); });
}

// Runs body with the URL of a server, which over TLS has the certificate that body may trust.
void with_server(bool is_secure, const std::function<void(const std::string& url, const std::string& ca_file)>& body) {
    runtime one({.procs = 2});
    one.run([&] {
        const temp_folder folder;
        const std::string ca_file = folder / "ca.pem";
        http::server_options how;
        how.body_max = 100'000'000;
        http::server server(how);
        add_interop_handlers(server);
        net::tcp_listener listener(net::endpoint::loopback(0));
        wait_group serving;
#ifdef WEFT_TEST_WITH_TLS
        std::optional<tls::context> context;
        if (is_secure) {
            const authority signer;
            std::ofstream(ca_file) << signer.pem();
            context = tls::context::server(
                {.own = {signer.issue({.hosts = {"127.0.0.1"}})}, .protocols = server.protocols()});
        }
        serving.go([&] {
            if (is_secure) {
                server.serve(listener, [&](net::tcp_stream c) { return tls::stream::server(std::move(c), *context); });
            } else {
                server.serve(listener);
            }
        });
#else
        serving.go([&] { server.serve(listener); });
#endif
        const std::string port = std::to_string(listener.local_endpoint().port());
        body((is_secure ? "https://127.0.0.1:" : "http://127.0.0.1:") + port, ca_file);
        EXPECT_EQ(server.shutdown(10s), 0U);
        serving.wait();
    });
}

std::string output_of(std::vector<std::string> command, std::string_view input = {}) {
    const process_output got = run_process(command, net::const_buffer(input), {.err = stdio::null});
    EXPECT_TRUE(got.status.ok()) << command[0] << " " << got.status.to_string();
    return got.out;
}

std::string curl(std::vector<std::string> arguments, std::string_view input = {}) {
    arguments.insert(arguments.begin(), {"curl", "--silent", "--max-time", "60"});
    return output_of(std::move(arguments), input);
}

TEST(Http2Interop, AnswersCurl) {
    if (!is_installed("curl")) GTEST_SKIP() << "curl is not installed";
    with_server(false, [](const std::string& url, const std::string& /*ca_file*/) {
        const std::string large(3'000'000, 'x');
        EXPECT_EQ(curl({"--http2-prior-knowledge", url + "/"}), "hello over HTTP/2\n");
        EXPECT_EQ(curl({"--http1.1", url + "/"}), "hello over HTTP/1\n");
        EXPECT_EQ(curl({"--http2-prior-knowledge", "--data-binary", "@-", url + "/echo"}, large), large);
        EXPECT_EQ(curl({"--http2-prior-knowledge", "-o", "/dev/null", "-w", "%{http_code}", "-I", url + "/"}), "200");
        EXPECT_EQ(curl({"--http2-prior-knowledge", "-H", "Expect: 100-continue", "-d", "abc", url + "/echo"}), "abc");
    });
}

TEST(Http2Interop, AnswersNghttpAndH2load) {
    if (!is_installed("nghttp") || !is_installed("h2load")) GTEST_SKIP() << "nghttp2-client is not installed";
    with_server(false, [](const std::string& url, const std::string& /*ca_file*/) {
        EXPECT_EQ(output_of({"nghttp", url + "/"}), "hello over HTTP/2\n");
        const std::string report = output_of({"h2load", "-n", "2000", "-c", "10", "-m", "20", url + "/"});
        EXPECT_NE(report.find("2000 succeeded, 0 failed"), std::string::npos) << report;
    });
}

// httpx uses the package h2, an implementation of HTTP/2 in Python. It sends the whole body before
// it reads the response.
constexpr const char* httpx_script = R"(
import asyncio, sys, httpx

async def parts():
    for _ in range(50):
        yield b"y" * 1000

async def main(url):
    async with httpx.AsyncClient(http1=False, http2=True, timeout=60) as client:
        hello = await client.get(url + "/")
        assert (hello.http_version, hello.text) == ("HTTP/2", "hello over HTTP/2\n"), hello.text
        assert (await client.head(url + "/")).text == ""
        large = b"x" * 1_000_000
        assert (await client.post(url + "/count", content=large)).text == "1000000"
        assert (await client.post(url + "/echo", content=parts())).content == b"y" * 50_000
        assert (await client.post(url + "/echo", content=b"")).content == b""
        assert (await client.post(url + "/none", content=large[:100_000])).status_code == 404
        assert (await client.get(url + "/", headers={"x": "y" * 20_000})).status_code == 431
        answers = await asyncio.gather(*[client.get(url + "/") for _ in range(200)])
        assert all(one.status_code == 200 for one in answers)
        print("done")

asyncio.run(main(sys.argv[1]))
)";

TEST(Http2Interop, AnswersHttpx) {
    bool is_there = false;
    runtime().run([&] {
        is_there = run_process({"python3", "-c", "import h2, httpx"}, net::const_buffer(std::string_view()),
                               {.err = stdio::null})
                       .status.ok();
    });
    if (!is_there) GTEST_SKIP() << "python3-httpx and python3-h2 are not installed";
    with_server(false, [](const std::string& url, const std::string& /*ca_file*/) {
        EXPECT_EQ(output_of({"python3", "-c", httpx_script, url}), "done\n");
    });
}

#ifdef WEFT_TEST_WITH_TLS
TEST(Http2Interop, AgreesOnTheProtocolOverTls) {
    if (!is_installed("curl")) GTEST_SKIP() << "curl is not installed";
    with_server(true, [](const std::string& url, const std::string& ca_file) {
        const std::string large(1'000'000, 'x');
        EXPECT_EQ(curl({"--cacert", ca_file, url + "/"}), "hello over HTTP/2, secure\n");
        EXPECT_EQ(curl({"--cacert", ca_file, "--http1.1", url + "/"}), "hello over HTTP/1, secure\n");
        EXPECT_EQ(curl({"--cacert", ca_file, "--no-alpn", url + "/"}), "hello over HTTP/1, secure\n");
        EXPECT_EQ(curl({"--cacert", ca_file, "--data-binary", "@-", url + "/echo"}, large), large);
    });
}
#endif

}  // namespace
}  // namespace weft::test
