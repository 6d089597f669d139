// served.h: servers for a client to talk to: one of weft::http, and scripts that write raw bytes.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <weft/http/client.h>
#include <weft/http/server.h>
#include <weft/net/tcp.h>
#include <weft/weft.h>

#include "support/procs_test.h"

namespace weft::test {

using namespace std::chrono_literals;

// Options for a client of servers in this process: no proxy of the environment.
inline http::client_options direct() {
    http::client_options how;
    how.proxy = "";
    return how;
}

// A server with the handlers that add() gives it, until the end of the block.
class web {
public:
    template <typename F>
    explicit web(F add, http::server_options how = {}) : server_(quiet(std::move(how))) {
        add(server_);
        serving_.go([this] { server_.serve(listener_); });
    }

    ~web() {
        server_.shutdown(0s);
        serving_.wait();
    }

    web(const web&) = delete;
    web& operator=(const web&) = delete;

    [[nodiscard]] std::string url(std::string_view path) const {
        return "http://127.0.0.1:" + std::to_string(listener_.local_endpoint().port()) + std::string(path);
    }

    [[nodiscard]] http::server_stats stats() const { return server_.stats(); }

private:
    static http::server_options quiet(http::server_options how) {
        if (!how.on_exception) how.on_exception = [](const std::exception_ptr&, const http::request&) {};
        return how;
    }

    http::server server_;
    net::tcp_listener listener_{net::endpoint::loopback(0)};
    wait_group serving_;
};

// A listener that gives each connection to f, one after the other or at once, until the end of the
// block. Connections that f still has are then interrupted.
class raw_server {
public:
    template <typename F>
    explicit raw_server(F f) {
        serving_.go([this, f] {
            std::error_code ec;
            while (true) {
                net::tcp_stream s = listener_.accept(ec);
                if (ec) return;
                ++accepted;
                serving_.go([this, f, s = std::move(s)]() mutable {
                    try {
                        with_stop_token(stop_.get_token(), [&] { f(s); });
                    } catch (const std::system_error&) {
                        // The client has gone.
                    } catch (const weft::cancelled&) {
                        // The test ends.
                    }
                });
            }
        });
    }

    ~raw_server() {
        listener_.close();
        stop_.request_stop();
        serving_.wait();
    }

    raw_server(const raw_server&) = delete;
    raw_server& operator=(const raw_server&) = delete;

    [[nodiscard]] std::string url(std::string_view path = "/") const {
        return "http://127.0.0.1:" + std::to_string(listener_.local_endpoint().port()) + std::string(path);
    }

    std::atomic<int> accepted = 0;

private:
    net::tcp_listener listener_{net::endpoint::loopback(0)};
    std::stop_source stop_;
    wait_group serving_;
};

// Reads a request without a body, and returns its header; empty if the client has gone.
inline std::string read_head(net::tcp_stream& s) {
    std::string head;
    std::array<char, 4096> part;
    while (head.find("\r\n\r\n") == std::string::npos) {
        std::error_code ec;
        const std::size_t n = s.read_some(part, ec);
        if (n == 0) return {};
        head.append(part.data(), n);
    }
    return head;
}

// Waits until the client closes.
inline void await_end(net::tcp_stream& s) {
    std::array<char, 4096> part;
    std::error_code ec;
    while (s.read_some(part, ec) != 0) continue;
}

// The code with which f fails; none if it does not.
template <typename F>
std::error_code code_of_failure(F f) {
    try {
        f();
    } catch (const std::system_error& e) {
        return e.code();
    }
    return {};
}

// A fixture that has used all that libcurl opens once in a process.
class client_test : public procs_test {
protected:
    static void SetUpTestSuite() {
        runtime one({.procs = 1});
        one.run([] {
            const web s(
                [](http::server& to) { to.handle("/", [](http::request&, http::response& w) { w.send(""); }); });
            static_cast<void>(http::client(direct()).get(s.url("/")));
        });
    }
};

}  // namespace weft::test
