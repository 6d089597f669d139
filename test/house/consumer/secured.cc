// secured.cc: a foreign program that uses the component tls.
#include <cstdio>
#include <system_error>

#include <weft/net/tcp.h>
#include <weft/tls/stream.h>
#include <weft/weft.h>

int main() {
    return weft::main([] {
        // A peer that sends something, but does not speak TLS.
        weft::net::tcp_listener listener(weft::net::endpoint::loopback(0));
        weft::go([&] {
            std::error_code ec;
            listener.accept(ec).write_all("hello", ec);
        });
        const weft::tls::context trust = weft::tls::context::client();
        std::error_code ec;
        const weft::tls::stream s = weft::tls::stream::connect(listener.local_endpoint(), "example.org", trust, ec);
        const bool told = ec == weft::tls::errc::not_tls || ec == weft::tls::errc::ended_in_handshake ||
                          ec == std::errc::connection_reset;
        std::puts(told ? "the sum of the first hundred squares is 338350" : ec.message().c_str());
        return told ? 0 : 1;
    });
}
