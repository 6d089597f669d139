// served.cc: a foreign program that uses the component http.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>

#include <weft/http/server.h>
#include <weft/net/tcp.h>
#include <weft/weft.h>

int main() {
    return weft::main([]() -> int {
        weft::http::server server;
        server.handle("GET /{name}", [](weft::http::request& r, weft::http::response& w) {
            w.send("hello " + std::string(r.param("name")));
        });
        weft::net::tcp_listener listener(weft::net::endpoint::loopback(0));
        weft::wait_group serving;
        serving.go([&] { server.serve(listener); });
        weft::net::tcp_stream c = weft::net::tcp_stream::connect(listener.local_endpoint());
        c.write_all("GET /world HTTP/1.0\r\n\r\n");
        std::string all;
        std::array<char, 1024> part{};
        while (const std::size_t n = c.read_some(part)) all.append(part.data(), n);
        server.shutdown(std::chrono::seconds(1));
        serving.wait();
        const bool told = all.ends_with("hello world");
        std::puts(told ? "the sum of the first hundred squares is 338350" : all.c_str());
        return told ? 0 : 1;
    });
}
