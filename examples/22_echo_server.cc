// 22_echo_server: an echo server in straight-line code, with one green thread per connection.
//
//   22_echo_server                    serves three clients, prints their answers, ends
//   22_echo_server 127.0.0.1:7777     serves all clients until it is interrupted: nc 127.0.0.1 7777
#include <cstdio>
#include <string>
#include <utility>

#include <weft/net/tcp.h>
#include <weft/weft.h>

using weft::net::tcp_listener;
using weft::net::tcp_stream;

// Sends back what it receives, until the peer closes its sending side.
void echo(tcp_stream& connection) {
    char text[4096];
    while (const std::size_t n = connection.read_some(text)) connection.write_all({text, n});
}

void serve(tcp_listener& listener) {
    for (;;) {
        std::error_code ec;
        tcp_stream connection = listener.accept(ec);
        if (ec == weft::errc::closed) return;
        if (ec) throw std::system_error(ec, "accept");
        weft::go([c = std::move(connection)]() mutable {
            try {
                echo(c);
            } catch (const std::system_error& e) {
                std::fprintf(stderr, "a connection has ended: %s\n", e.what());
            }
        });
    }
}

std::string ask(const weft::net::endpoint& server, const std::string& question) {
    tcp_stream connection = tcp_stream::connect(server);
    connection.write_all(question);
    connection.shutdown_send();
    std::string answer(100, '\0');
    answer.resize(connection.read(answer));
    return answer;
}

int main(int argc, char** argv) {
    return weft::main([=] {
        if (argc > 1) {
            tcp_listener listener(argv[1]);
            std::printf("listening at %s\n", listener.local_endpoint().to_string().c_str());
            serve(listener);
            return;
        }
        tcp_listener listener(weft::net::endpoint::loopback(0));
        weft::scope([&](auto& s) {
            s.go([&] { serve(listener); });
            for (const char* name : {"first", "second", "third"}) {
                const std::string answer = ask(listener.local_endpoint(), std::string("the ") + name + " client");
                std::printf("answer: %s\n", answer.c_str());
            }
            listener.close();
        });
    });
}
