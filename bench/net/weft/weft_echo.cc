// weft_echo.cc: the echo server in straight-line code: one green thread per connection.
#include <cstddef>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include <weft/net/tcp.h>
#include <weft/net/unix.h>
#include <weft/weft.h>

#include "observe/observer.h"
#include "server_options.h"

namespace bench::net {

namespace {

template <typename Stream>
void echo(Stream& connection, std::size_t buffer_size) {
    const auto buffer = std::make_unique_for_overwrite<char[]>(buffer_size);
    std::error_code ec;
    for (;;) {
        const std::size_t n = connection.read_some({buffer.get(), buffer_size}, ec);
        if (n == 0) return;
        connection.write_all({buffer.get(), n}, ec);
        if (ec) return;
    }
}

template <typename Listener>
[[noreturn]] void serve(Listener listener, const std::string& address, std::size_t buffer_size) {
    announce("weft", "gcc " __VERSION__, address);
    for (;;) {
        weft::go([c = listener.accept(), buffer_size]() mutable { echo(c, buffer_size); });
    }
}

}  // namespace

}  // namespace bench::net

int main(int argc, char** argv) {
    using namespace bench::net;
    const server_options o = parse_server_options(argc, argv, "echo");
    return weft::main(weft::runtime_options{.procs = static_cast<unsigned>(o.p)}, [&o] {
        const auto observer = bench::observer_from_environment();
        if (!o.unix_path.empty()) serve(weft::net::unix_listener(o.unix_path), "unix:" + o.unix_path, o.buffer);
        weft::net::tcp_listener listener(weft::net::endpoint("127.0.0.1:0"));
        const std::string address = tcp_address(listener.local_endpoint().port());
        serve(std::move(listener), address, o.buffer);
    });
}
