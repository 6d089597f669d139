// asked.cc: a foreign program that uses the component http_client.
#include <chrono>
#include <cstdio>
#include <string>

#include <weft/http/client.h>
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
        const std::string at = "http://127.0.0.1:" + std::to_string(listener.local_endpoint().port());
        weft::http::client_options how;
        how.proxy = "";
        std::string said;
        {
            weft::http::client client(how);
            said = client.get(at + "/world").text();
        }
        server.shutdown(std::chrono::seconds(1));
        serving.wait();
        const bool told = said == "hello world";
        std::puts(told ? "the sum of the first hundred squares is 338350" : said.c_str());
        return told ? 0 : 1;
    });
}
