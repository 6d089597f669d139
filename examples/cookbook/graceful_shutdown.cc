// graceful_shutdown.cc: on SIGTERM a server accepts nothing more, finishes the answers that it has
// begun within a limit of time, and ends.
// See: docs/cookbook/graceful_shutdown.md
#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX's
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

#include <weft/net/tcp.h>
#include <weft/signals.h>
#include <weft/weft.h>

using namespace std::chrono_literals;
using weft::net::tcp_listener;
using weft::net::tcp_stream;

namespace {

weft::event half_done;  // for this program's client: an answer has been begun

// Handles the requests of one connection. Waits for requests are cancelled at once. An answer that
// has been begun may take ten seconds.
void serve(tcp_stream& connection) {
    char request[64];
    while (const std::size_t n = connection.read_some(request)) {
        weft::shield([&] {
            weft::with_timeout(10s, [&] {
                connection.write_all("begun, ");
                half_done.set();
                weft::sleep_for(10ms);  // the work
                connection.write_all("done: " + std::string(request, n));
            });
        });
    }
}

void run_server(tcp_listener& listener, const weft::signals::subscription& stop) {
    weft::scope([&](weft::task_scope& connections) {
        connections.go({.name = "until SIGTERM"}, [&] {
            stop.channel().recv();
            listener.close();
            connections.cancel();
        });
        for (;;) {
            std::error_code ec;
            tcp_stream connection = listener.accept(ec);
            if (ec == weft::errc::closed || ec == weft::errc::cancelled) return;
            if (ec) throw std::system_error(ec, "accept");
            connections.go([c = std::move(connection)]() mutable {
                try {
                    serve(c);
                } catch (const std::system_error&) {
                    // The client has gone.
                } catch (const weft::timed_out&) {
                    // It does not read its answer.
                }
            });
        }
    });  // waits for all connections
}

std::string read_to_end(tcp_stream& from) {
    std::string text(100, '\0');
    text.resize(from.read(text));
    return text;
}

}  // namespace

int main() {
    return weft::main([] {
        const weft::signals::subscription stop = weft::signals::notify({SIGTERM});
        tcp_listener listener(weft::net::endpoint::loopback(0));
        const weft::net::endpoint address = listener.local_endpoint();
        weft::scope([&](weft::task_scope& s) {
            s.go({.name = "server"}, [&] { run_server(listener, stop); });

            tcp_stream idle = tcp_stream::connect(address);
            tcp_stream busy = tcp_stream::connect(address);
            busy.write_all("a question");
            half_done.wait();
            ::kill(::getpid(), SIGTERM);  // what an operator does
            std::printf("the busy client reads: %s\n", read_to_end(busy).c_str());
            std::printf("the idle client reads: %s\n", read_to_end(idle).empty() ? "the end" : "something");
        });
        std::printf("the server has ended\n");
    });
}
