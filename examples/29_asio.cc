// 29_asio.cc: uses libraries that are built on Boost.Asio in straight-line code.
//
// needs: weft::asio Boost::headers
//
// Boost.Beast speaks HTTP over a socket of weft, with one green thread per connection. An
// asynchronous operation of Asio becomes a call that waits: here a timer, in a real program the
// client of a database or a broker. Prints that 100 clients were answered, and one answer.
#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include <weft/asio/executor.h>
#include <weft/asio/stream.h>
#include <weft/asio/use_weft.h>
#include <weft/net/tcp.h>
#include <weft/weft.h>

using namespace std::chrono_literals;
using weft::net::tcp_listener;
using weft::net::tcp_stream;
namespace http = boost::beast::http;

using request = http::request<http::string_body>;
using response = http::response<http::string_body>;

// Serves one client as long as it sends requests.
void serve(tcp_stream accepted, weft::asio::context& here) {
    weft::asio::stream connection(std::move(accepted));
    boost::beast::flat_buffer buffer;
    for (;;) {
        request asked;
        boost::system::error_code ec;
        http::read(connection, buffer, asked, ec);
        if (ec) break;  // normally http::error::end_of_stream
        // Looks like a blocking call; other green threads run in the meantime.
        boost::asio::steady_timer(here.get_executor(), 10ms).async_wait(weft::asio::use_weft);
        response answer(http::status::ok, asked.version());
        answer.keep_alive(asked.keep_alive());
        answer.body() = "hello, " + std::string(asked.target().substr(1));
        answer.prepare_payload();
        http::write(connection, answer, ec);
    }
    connection.next_layer().shutdown_send();
}

std::string ask(const weft::net::endpoint& server, const std::string& name) {
    weft::asio::stream connection(tcp_stream::connect(server));
    request question(http::verb::get, "/" + name, 11);
    question.set(http::field::host, "localhost");
    question.keep_alive(false);
    http::write(connection, question);
    boost::beast::flat_buffer buffer;
    response answer;
    http::read(connection, buffer, answer);
    return answer.body();
}

int main() {
    return weft::main([] {
        weft::asio::context here;
        tcp_listener listener(weft::net::endpoint::loopback(0));
        weft::scope([&](weft::task_scope& s) {
            s.go([&] {
                for (;;) {
                    std::error_code ec;
                    tcp_stream accepted = listener.accept(ec);
                    if (ec) break;  // weft::errc::closed
                    s.go([&, c = std::move(accepted)]() mutable { serve(std::move(c), here); });
                }
            });
            // 100 clients at once. Each takes 10 ms; one after the other they would take a second.
            weft::wait_group clients;
            std::atomic<int> answered = 0;
            const auto begin = std::chrono::steady_clock::now();
            for (int i = 0; i < 100; ++i) {
                clients.go([&, i] {
                    const std::string name = "client" + std::to_string(i);
                    if (ask(listener.local_endpoint(), name) == "hello, " + name) ++answered;
                });
            }
            clients.wait();
            const bool together = std::chrono::steady_clock::now() - begin < 900ms;
            std::printf("%d clients were answered%s\n", answered.load(), together ? ", all at the same time" : "");
            std::printf("%s\n", ask(listener.local_endpoint(), "world").c_str());
            listener.close();
        });
    });
}
