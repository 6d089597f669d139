// served.h: a server in a simulation, and raw clients of it.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <weft/http/server.h>
#include <weft/net/tcp.h>
#include <weft/sim/gtest.h>
#include <weft/weft.h>

namespace weft::test {

using namespace std::chrono_literals;

// The time moves only while all wait. A few schedules: most tests have little that can be in
// another order.
inline sim::options few_schedules() { return {.schedules = 40, .lateness = 0ns}; }

// A server with the handlers that add() gives it, until the end of the block.
class served {
public:
    template <typename F>
    explicit served(F add, http::server_options how = {}) : server_(quiet(std::move(how))) {
        add(server_);
        serving_.go([this] { server_.serve(listener_); });
    }

    ~served() {
        server_.shutdown(60s);
        serving_.wait();
    }

    served(const served&) = delete;
    served& operator=(const served&) = delete;

    [[nodiscard]] http::server& server() { return server_; }

    [[nodiscard]] net::endpoint at() const { return listener_.local_endpoint(); }

    // The messages of the exceptions that handlers have thrown, each after a space.
    std::string reported;

private:
    http::server_options quiet(http::server_options how) {
        how.on_exception = [this](const std::exception_ptr& e, const http::request& r) {
            try {
                std::rethrow_exception(e);
            } catch (const std::exception& known) {
                reported += " " + std::string(r.pattern()) + ": " + known.what();
            } catch (...) {
                reported += " " + std::string(r.pattern()) + ": ?";
            }
        };
        return how;
    }

    http::server server_;
    net::tcp_listener listener_{net::endpoint::loopback(0)};
    wait_group serving_;
};

// A response, as it came.
struct answer {
    unsigned status = 0;  // 0: the connection ended before it
    std::string head;     // with the empty line
    std::string body;

    [[nodiscard]] bool has(std::string_view line) const {
        return head.find("\r\n" + std::string(line) + "\r\n") != std::string::npos;
    }
};

class raw_client {
public:
    explicit raw_client(const served& of) : stream_(net::tcp_stream::connect(of.at())) {
        stream_.set_deadline(std::chrono::steady_clock::now() + 1h);
    }

    void send(std::string_view text) {
        std::error_code ec;
        stream_.write_all(text, ec);  // the server may have closed
    }

    // Reads one response with Content-Length, in chunks (which are left as they are), or until the
    // end.
    answer receive(bool is_head = false) {
        answer a;
        if (!fill_until("\r\n\r\n")) return a;
        a.head = take(pending_.find("\r\n\r\n") + 4);
        a.status = static_cast<unsigned>(std::stoi(a.head.substr(9, 3)));
        if (is_head || a.status == 204 || a.status == 304 || a.status < 200) return a;
        if (const std::size_t at = a.head.find("Content-Length: "); at != std::string::npos) {
            const auto size = static_cast<std::size_t>(std::stoi(a.head.substr(at + 16)));
            while (pending_.size() < size && fill()) continue;
            a.body = take(size);
        } else if (a.has("Transfer-Encoding: chunked")) {
            static_cast<void>(fill_until("0\r\n"));
            static_cast<void>(fill_until("\r\n\r\n"));
            a.body = take(pending_.rfind("\r\n\r\n") + 4);
        } else {
            a.body = rest();
        }
        return a;
    }

    answer ask(std::string_view text) {
        send(text);
        return receive();
    }

    // Everything until the server closes.
    std::string rest() {
        while (fill()) continue;
        return std::exchange(pending_, {});
    }

    // One read, of what has come.
    std::string part() {
        if (pending_.empty()) static_cast<void>(fill());
        return std::exchange(pending_, {});
    }

    [[nodiscard]] net::tcp_stream& stream() { return stream_; }

private:
    bool fill() {
        std::array<char, 4096> piece{};
        std::error_code ec;
        const std::size_t n = stream_.read_some(piece, ec);
        pending_.append(piece.data(), n);
        return n != 0;
    }

    bool fill_until(std::string_view text) {
        while (pending_.find(text) == std::string::npos) {
            if (!fill()) return false;
        }
        return true;
    }

    std::string take(std::size_t size) {
        std::string taken = pending_.substr(0, size);
        pending_.erase(0, size);
        return taken;
    }

    net::tcp_stream stream_;
    std::string pending_;
};

// "GET / HTTP/1.1" and the usual end; fields end with \r\n each.
inline std::string request_text(std::string_view line, std::string_view fields = {}, std::string_view body = {}) {
    return std::string(line) + " HTTP/1.1\r\nHost: test\r\n" + std::string(fields) + "\r\n" + std::string(body);
}

}  // namespace weft::test
