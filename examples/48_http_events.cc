// 48_http_events.cc: a stream of events over HTTP, which ends cleanly when the server shuts down.
//
// needs: weft::http
#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include <weft/http/events.h>
#include <weft/http/server.h>
#include <weft/net/tcp.h>
#include <weft/weft.h>

namespace {

using namespace std::chrono_literals;
namespace http = weft::http;

// Sends the numbers after the last one that the client got, until the server shuts down.
void count(http::request& r, http::response& w) {
    const std::string_view last = r.header("Last-Event-ID");
    int next = last.empty() ? 1 : std::stoi(std::string(last)) + 1;
    auto stream = w.events();
    weft::ticker ticks(10ms);
    for (bool is_over = false; !is_over;) {
        weft::select(weft::on_recv(ticks.chan(),
                                   [&](const auto&) {
                                       const std::string number = std::to_string(next++);
                                       stream.send(number, {.event = "count", .id = number});
                                   }),
                     weft::on_event(r.draining(), [&] { is_over = true; }));
    }
    stream.send("the server ends", {.event = "goodbye", .retry = 1s});
}

}  // namespace

int main() {
    return weft::main([&] {
        http::server server;
        server.handle("GET /count", count);
        weft::net::tcp_listener listener("127.0.0.1:0");
        weft::wait_group serving;
        serving.go([&] { server.serve(listener); });

        weft::net::tcp_stream client = weft::net::tcp_stream::connect(listener.local_endpoint());
        client.write_all(std::string_view("GET /count HTTP/1.0\r\nLast-Event-ID: 40\r\n\r\n"));
        std::string all;
        std::array<char, 1024> part;
        const auto read_more = [&] {
            const std::size_t n = client.read_some(part);
            all.append(part.data(), n);
            return n != 0;
        };
        while (all.find("data: 42\n\n") == std::string::npos && read_more()) continue;
        serving.go([&] { server.shutdown(10s); });
        while (read_more()) continue;
        const std::string events = all.substr(all.find("\r\n\r\n") + 4);
        std::printf("%s…\n%s", events.substr(0, events.find("42\n\n") + 4).c_str(),
                    events.substr(events.find("event: goodbye")).c_str());
        serving.wait();
        return 0;
    });
}
