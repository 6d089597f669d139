// 47_http_files.cc: an HTTP server for files, conditionally and in parts.
//
// needs: weft::http
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include <weft/http/files.h>
#include <weft/http/server.h>
#include <weft/net/tcp.h>
#include <weft/weft.h>

namespace {

using namespace std::chrono_literals;
namespace http = weft::http;

// Prints the status line of the response, and the body of one that succeeds. field may be empty.
void ask(const weft::net::endpoint& at, const std::string& line, const std::string& field) {
    weft::net::tcp_stream client = weft::net::tcp_stream::connect(at);
    client.write_all(line + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
                     (field.empty() ? "" : field + "\r\n") + "\r\n");
    std::string all;
    std::array<char, 1024> part;
    while (const std::size_t n = client.read_some(part)) all.append(part.data(), n);
    const std::string status = all.substr(9, all.find("\r\n") - 9);
    std::printf("%s%s%s -> %s", line.c_str(), field.empty() ? "" : ", ", field.c_str(), status.c_str());
    if (status.front() == '2') std::printf(": %s", all.c_str() + all.find("\r\n\r\n") + 4);
    if (!all.ends_with('\n') || status.front() != '2') std::puts("");
}

}  // namespace

int main() {
    const std::string folder = std::filesystem::temp_directory_path() / "weft_47_http_files";
    std::filesystem::create_directory(folder);
    const int status = weft::main([&] {
        weft::fs::write_file(folder + "/a.txt", std::string_view("0123456789"));
        weft::fs::write_file(folder + "/report.txt", std::string_view("all is well\n"));

        http::server server;
        server.handle("GET /static/{path...}", http::files(folder));
        server.handle("GET /report", [&](http::request& r, http::response& w) {
            w.set("Content-Disposition", "attachment");
            http::serve_file(r, w, folder + "/report.txt");
        });
        server.handle("GET /version", [](http::request& r, http::response& w) {
            http::serve_content(r, w, "1.0\n", {.type = "text/plain", .tag = "\"1.0\""});
        });

        weft::net::tcp_listener listener("127.0.0.1:0");
        weft::wait_group serving;
        serving.go([&] { server.serve(listener); });
        const weft::net::endpoint at = listener.local_endpoint();
        ask(at, "GET /static/a.txt", "");
        ask(at, "GET /static/a.txt", "Range: bytes=2-4");
        ask(at, "GET /static/a.txt", "Range: bytes=10-");
        ask(at, "GET /report", "");
        ask(at, "GET /version", "");
        ask(at, "GET /version", "If-None-Match: \"1.0\"");
        ask(at, "GET /static/../../etc/passwd", "");
        server.shutdown(10s);
        serving.wait();
        return 0;
    });
    std::filesystem::remove_all(folder);
    return status;
}
