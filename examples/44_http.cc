// 44_http.cc: an HTTP server with three handlers, and what a client gets from it.
//
// needs: weft::http
//
//   44_http           asks itself, and ends
//   44_http PORT      serves 127.0.0.1:PORT until SIGINT or SIGTERM, then answers what is in flight
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>

#include <weft/http/server.h>
#include <weft/net/tcp.h>
#include <weft/signals.h>
#include <weft/weft.h>

namespace {

using namespace std::chrono_literals;
namespace http = weft::http;

// Prints the status line and the body of each response.
void ask(const weft::net::endpoint& at, std::string_view line) {
    weft::net::tcp_stream client = weft::net::tcp_stream::connect(at);
    client.write_all(std::string(line) + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    std::string all;
    std::array<char, 1024> part;
    while (const std::size_t n = client.read_some(part)) all.append(part.data(), n);
    const std::string_view text = all;
    const std::size_t body = text.find("\r\n\r\n");
    std::printf("%.*s -> %.*s: %s", static_cast<int>(line.size()), line.data(), static_cast<int>(text.find("\r\n") - 9),
                text.data() + 9, all.c_str() + body + 4);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string port = argc > 1 ? argv[1] : "0";
    return weft::main([&] {
        http::server server;
        server.handle("GET /{$}", [](http::request&, http::response& w) { w.send("hello\n"); });
        server.handle("GET /users/{id}", [](http::request& r, http::response& w) {
            if (r.param("id") == "0") throw http::failure(404, "there is no such user");
            w.send("user " + std::string(r.param("id")) + "\n");
        });
        server.handle("GET /count/{to}", [](http::request& r, http::response& w) {
            const int to = std::stoi(std::string(r.param("to")));
            for (int i = 1; i <= to; ++i) w.write(std::to_string(i) + (i == to ? "\n" : " "));
        });

        weft::net::tcp_listener listener("127.0.0.1:" + port);
        weft::wait_group serving;
        serving.go([&] { server.serve(listener); });
        if (argc > 1) {
            weft::signals::subscription end = weft::signals::notify({SIGINT, SIGTERM});
            static_cast<void>(end.recv());
        } else {
            for (const char* line :
                 {"GET /", "GET /users/7", "GET /users/0", "GET /count/5", "GET /nowhere", "POST /users/7"}) {
                ask(listener.local_endpoint(), line);
            }
        }
        const std::size_t cut_off = server.shutdown(10s);
        serving.wait();
        std::printf("requests: %d, cut off: %zu\n", static_cast<int>(server.stats().requests), cut_off);
        return 0;
    });
}
