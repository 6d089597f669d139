// weft_http_server.cc: HTTP/1.1 with keep-alive: one green thread per connection, Boost.Beast on
// weft's sockets.
//
// Every request is fully parsed, with limits on header size and time, and answered with the same
// few bytes and a date. The servers with Go's net/http and hyper do the same.
#include <time.h>

#include <array>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/version.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <weft/asio/stream.h>
#include <weft/net/tcp.h>
#include <weft/weft.h>

#include "observe/observer.h"
#include "server_options.h"

namespace bench::net {

namespace {

namespace http = boost::beast::http;
using namespace std::chrono_literals;

constexpr std::string_view greeting = "Hello, world!\n";
constexpr uint32_t largest_header = 16 * 1024;
constexpr auto header_time = 10s;
constexpr auto write_time = 10s;

// The date for the header, updated once a second.
class date {
public:
    const std::string& now() {
        const time_t second = ::time(nullptr);
        if (second != second_) {
            std::array<char, 64> text{};
            std::tm parts{};
            ::gmtime_r(&second, &parts);
            text_.assign(text.data(), std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts));
            second_ = second;
        }
        return text_;
    }

private:
    time_t second_ = 0;
    std::string text_;
};

class connection {
public:
    explicit connection(weft::net::tcp_stream accepted) : client_(std::move(accepted)) {}

    void serve() {
        while (serve_request()) {}
    }

private:
    // False: it was the last request.
    bool serve_request() {
        boost::system::error_code ec;
        http::request_parser<http::empty_body> parser;
        parser.header_limit(largest_header);
        client_.next_layer().set_read_deadline(std::chrono::steady_clock::now() + header_time);
        http::read(client_, arrived_, parser, ec);
        if (ec) return false;
        const bool stays = parser.get().keep_alive();

        http::response<http::string_body> answer(http::status::ok, parser.get().version());
        answer.set(http::field::date, date_.now());
        answer.set(http::field::content_type, "text/plain");
        answer.body() = greeting;
        answer.keep_alive(stays);
        answer.prepare_payload();
        client_.next_layer().set_write_deadline(std::chrono::steady_clock::now() + write_time);
        http::write(client_, answer, ec);
        return !ec && stays;
    }

    weft::asio::stream<weft::net::tcp_stream> client_;
    boost::beast::flat_buffer arrived_;
    date date_;
};

}  // namespace

}  // namespace bench::net

int main(int argc, char** argv) {
    using namespace bench::net;
    const server_options o = parse_server_options(argc, argv, "http");
    return weft::main(weft::runtime_options{.procs = static_cast<unsigned>(o.p)}, [] {
        const auto observer = bench::observer_from_environment();
        weft::net::tcp_listener listener(weft::net::endpoint::loopback(0));
        announce("weft",
                 "gcc " __VERSION__ ", Boost.Beast " + std::to_string(BOOST_VERSION / 100000) + "." +
                     std::to_string(BOOST_VERSION / 100 % 1000),
                 tcp_address(listener.local_endpoint().port()));
        for (;;) {
            weft::go([c = listener.accept()]() mutable { connection(std::move(c)).serve(); });
        }
    });
}
