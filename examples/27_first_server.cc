// 27_first_server: a server that answers each line in capital letters, to any number of clients.
//
//   27_first_server                     serves two clients of its own, prints their answers, ends
//   27_first_server 127.0.0.1:7777      serves until it is interrupted: nc 127.0.0.1 7777
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

#include <weft/net/tcp.h>
#include <weft/weft.h>

using weft::net::tcp_listener;
using weft::net::tcp_stream;

// Serves one client, until it leaves or its connection breaks.
void answer(tcp_stream connection) {
    char text[1024];
    std::error_code error;
    while (const std::size_t n = connection.read_some(text, error)) {
        std::transform(text, text + n, text, [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
        connection.write_all({text, n}, error);
        if (error) break;
    }
}

// One green thread for each connection. It blocks in read_some, and that blocks no OS thread.
void serve(tcp_listener& listener) {
    for (;;) {
        tcp_stream connection = listener.accept();
        weft::go([c = std::move(connection)]() mutable { answer(std::move(c)); });
    }
}

// A client: says something and prints the answer.
void ask(const weft::net::endpoint& server, const std::string& what) {
    tcp_stream connection = tcp_stream::connect(server);
    connection.write_all(what);
    std::string reply(what.size(), '\0');
    reply.resize(connection.read(reply));
    std::printf("%s -> %s\n", what.c_str(), reply.c_str());
}

int main(int argc, char** argv) {
    return weft::main([=] {
        tcp_listener listener(argc > 1 ? argv[1] : "127.0.0.1:0");
        if (argc > 1) {
            std::printf("listening at %s\n", listener.local_endpoint().to_string().c_str());
            serve(listener);
        }
        const weft::net::endpoint server = listener.local_endpoint();
        weft::go([l = std::move(listener)]() mutable { serve(l); });
        ask(server, "good morning");
        ask(server, "good night");
    });
}
