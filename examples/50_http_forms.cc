// 50_http_forms.cc: forms, files in forms, and a cookie.
//
// needs: weft::http
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

#include <weft/http/cookie.h>
#include <weft/http/form.h>
#include <weft/http/multipart.h>
#include <weft/http/server.h>
#include <weft/net/tcp.h>
#include <weft/weft.h>

namespace {

using namespace std::chrono_literals;
namespace http = weft::http;

void hello(http::request& r, http::response& w) {
    const http::form f = r.form();
    w.set_cookie({.name = "user", .value = "7", .max_age = 24h});
    w.send("hello " + std::string(f.get("name").value_or("stranger")) + "\n");
}

void upload(http::request& r, http::response& w) {
    r.set_body_max(uint64_t{100} * 1024 * 1024);
    std::array<char, 4096> buffer;
    http::multipart parts(r);
    while (parts.next()) {
        std::size_t bytes = 0;
        while (const std::size_t n = parts.read_some(buffer)) bytes += n;
        w.write(parts.name() + " " + parts.filename() + ": " + std::to_string(bytes) + " bytes\n");
    }
}

// Prints the status, the cookie and the body of the response.
void post(const weft::net::endpoint& at, const std::string& path, const std::string& type, const std::string& body) {
    weft::net::tcp_stream client = weft::net::tcp_stream::connect(at);
    client.write_all("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: " + type +
                     "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    std::string all;
    std::array<char, 1024> part;
    while (const std::size_t n = client.read_some(part)) all.append(part.data(), n);
    std::printf("POST %s -> %s\n", path.c_str(), all.substr(9, all.find("\r\n") - 9).c_str());
    if (const std::size_t cookie = all.find("Set-Cookie"); cookie != std::string::npos)
        std::puts(all.substr(cookie, all.find("\r\n", cookie) - cookie).c_str());
    std::fputs(all.c_str() + all.find("\r\n\r\n") + 4, stdout);
}

}  // namespace

int main() {
    return weft::main([&] {
        http::server server;
        server.handle("POST /hello", hello);
        server.handle("POST /upload", upload);
        weft::net::tcp_listener listener("127.0.0.1:0");
        weft::wait_group serving;
        serving.go([&] { server.serve(listener); });

        const weft::net::endpoint at = listener.local_endpoint();
        post(at, "/hello", "application/x-www-form-urlencoded", "name=Ann+Bee");
        post(
            at, "/upload", "multipart/form-data; boundary=x",
            "--x\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nhello\r\n"
            "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nhello world\r\n--x--\r\n");
        server.shutdown(10s);
        serving.wait();
        return 0;
    });
}
