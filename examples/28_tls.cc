// 28_tls.cc: an echo server and clients over TLS. Prints the answers, and the error that a client
// reports if the server's certificate is for another name.
//
// needs: weft::tls
//
//   28_tls
//       makes certificates with the program openssl, serves three clients of its own, and ends
//   28_tls 127.0.0.1:7443 chain.pem key.pem
//       serves all clients: openssl s_client -connect 127.0.0.1:7443
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include <weft/net/tcp.h>
#include <weft/tls/stream.h>
#include <weft/weft.h>

namespace net = weft::net;
namespace tls = weft::tls;

// Sends back what it receives, until the peer closes the TLS session. The first read does the
// handshake.
void echo(tls::stream& connection) {
    char text[4096];
    while (const std::size_t n = connection.read_some(text)) connection.write_all({text, n});
    connection.shutdown_send();
}

void serve(net::tcp_listener& listener, const tls::context& shown) {
    for (;;) {
        std::error_code ec;
        net::tcp_stream arrived = listener.accept(ec);
        if (ec == weft::errc::closed) return;
        if (ec) throw std::system_error(ec, "accept");
        weft::go([c = tls::stream::server(std::move(arrived), shown)]() mutable {
            try {
                echo(c);
            } catch (const std::system_error& e) {
                std::fprintf(stderr, "a connection has ended: %s\n", e.what());
            }
        });
    }
}

// host is the name that the server's certificate must contain.
void ask(const net::endpoint& server, const char* host, const tls::context& trust) {
    try {
        tls::stream connection = tls::stream::connect(server, host, trust);
        connection.write_all("a secret");
        connection.shutdown_send();
        std::string answer(100, '\0');
        answer.resize(connection.read(answer));
        std::printf("%s answers: %s%s\n", host, answer.c_str(), connection.resumed() ? " (resumed session)" : "");
    } catch (const std::system_error& e) {
        std::printf("%s: %s\n", host, e.code().message().c_str());
    }
}

// A key and a self-signed certificate for localhost, in a folder that is removed at the end. Only
// programs that have the certificate trust it.
struct own_certificate {
    std::filesystem::path folder = std::filesystem::temp_directory_path() / "weft-example-tls";
    tls::certificate pem;

    own_certificate() {
        std::filesystem::create_directories(folder);
        const std::string chain = folder / "chain.pem";
        const std::string key = folder / "key.pem";
        const std::string make =
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost "
            "-addext subjectAltName=DNS:localhost -out " +
            chain + " -keyout " + key + " 2>/dev/null";
        if (std::system(make.c_str()) != 0)
            throw std::runtime_error("the program openssl could not make a certificate");
        pem = tls::certificate::from_files(chain, key);
    }

    ~own_certificate() { std::filesystem::remove_all(folder); }
};

int main(int argc, char** argv) {
    return weft::main([=] {
        if (argc == 4) {
            net::tcp_listener listener(argv[1]);
            serve(listener, tls::context::server(tls::certificate::from_files(argv[2], argv[3])));
            return;
        }
        const own_certificate own;
        const tls::context trust = tls::context::client({.trusted = own.pem.chain});
        net::tcp_listener listener(net::endpoint::loopback(0));
        weft::scope([&](auto& s) {
            s.go([&] { serve(listener, tls::context::server(own.pem)); });
            ask(listener.local_endpoint(), "localhost", trust);
            ask(listener.local_endpoint(), "localhost", trust);
            ask(listener.local_endpoint(), "bank.example", trust);
            listener.close();
        });
    });
}
