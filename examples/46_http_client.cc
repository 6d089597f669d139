// 46_http_client.cc: an HTTP client: many requests at once, a body in parts, and what goes wrong.
//
// needs: weft::http_client
//
// It asks a server of its own.
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <weft/http/client.h>
#include <weft/http/server.h>
#include <weft/net/tcp.h>
#include <weft/weft.h>

namespace {

using namespace std::chrono_literals;
namespace http = weft::http;

void serve_users(http::server& to) {
    to.handle("GET /users/{id}",
              [](http::request& r, http::response& w) { w.send("user " + std::string(r.param("id"))); });
    to.handle("POST /users", [](http::request& r, http::response& w) {
        w.status(201).set("Location", "/users/9");
        w.send("added " + r.body());
    });
    to.handle("GET /old", [](http::request&, http::response& w) { w.redirect("/users/1"); });
    to.handle("GET /count", [](http::request&, http::response& w) {
        for (int i = 0; i < 100'000; ++i) w.write("one line\n");
    });
    to.handle("GET /slow", [](http::request&, http::response& w) {
        weft::sleep_for(1h);
        w.send("late");
    });
}

// Twenty requests at once; they share at most four connections.
void ask_at_once(http::client& client, const std::string& at) {
    std::vector<std::string> names(20);
    weft::scope([&](weft::task_scope& s) {
        for (std::size_t i = 0; i < names.size(); ++i)
            s.go([&, i] { names[i] = client.get(at + "/users/" + std::to_string(i)).text(); });
    });
    std::printf("at once: %s to %s\n", names.front().c_str(), names.back().c_str());
}

// The body is never in memory as a whole.
void read_in_parts(http::client& client, const std::string& at) {
    http::reply r = client.send({.url = at + "/count"});
    std::size_t size = 0;
    std::array<char, 4096> part;
    while (const std::size_t n = r.read_some(part)) size += n;
    std::printf("in parts: %zu bytes\n", size);
}

void fail(http::client& client, const std::string& at) {
    try {
        static_cast<void>(client.send({.url = at + "/slow", .total_time = 20ms}));
    } catch (const std::system_error& e) {
        std::printf("slow: %s\n", e.code().message().c_str());
    }
    try {
        weft::with_timeout(20ms, [&] { static_cast<void>(client.get(at + "/slow")); });
    } catch (const weft::timed_out&) {
        std::puts("the deadline around the caller has passed");
    }
}

void ask(const std::string& at) {
    http::client_options how;
    how.connections_per_host = 4;
    how.proxy = "";  // none, whatever the environment says
    http::client client(how);

    const http::reply one = client.get(at + "/users/7");
    std::printf("GET: %u, %s\n", one.status(), one.text().c_str());
    const http::reply added = client.post(at + "/users", "nine");
    std::printf("POST: %u, %s, see %s\n", added.status(), added.text().c_str(),
                std::string(added.header("Location")).c_str());
    const http::reply moved = client.get(at + "/old");
    std::printf("redirect: %s\n", moved.text().c_str());
    std::printf("an error status is a reply: %u\n", client.get(at + "/nowhere").status());
    ask_at_once(client, at);
    read_in_parts(client, at);
    fail(client, at);
}

}  // namespace

int main() {
    return weft::main([] {
        http::server server;
        serve_users(server);
        weft::net::tcp_listener listener("127.0.0.1:0");
        weft::wait_group serving;
        serving.go([&] { server.serve(listener); });
        ask("http://" + listener.local_endpoint().to_string());
        server.shutdown(1s);
        serving.wait();
        std::printf("few connections: %s\n", server.stats().connections <= 8 ? "yes" : "no");
        return 0;
    });
}
