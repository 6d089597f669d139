// 52_streams.cc: a server that answers lines, behind a relay; and a pipe in memory.
// See: docs/io.md
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <weft/io.h>
#include <weft/net/tcp.h>
#include <weft/weft.h>

using weft::net::tcp_listener;
using weft::net::tcp_stream;

namespace {

// Answers each line with the same line, backwards.
void serve(tcp_stream& client) {
    weft::io::buffered_reader in(client);
    weft::io::buffered_writer out(client);
    while (const auto line = in.read_line()) {
        std::string answer(line->rbegin(), line->rend());
        out.write_all(answer + "\n");
        if (in.buffered().empty()) out.flush();  // the client may wait for the answers
    }
}

void show_lines() {
    tcp_listener inner("127.0.0.1:0");
    tcp_listener outer("127.0.0.1:0");
    weft::io::relayed moved;
    weft::scope([&](weft::task_scope& s) {
        s.go([&] {
            tcp_stream client = inner.accept();
            serve(client);
        });
        s.go([&] {  // what a proxy does
            tcp_stream client = outer.accept();
            tcp_stream server = tcp_stream::connect(inner.local_endpoint());
            moved = weft::io::relay(client, server);
        });
        tcp_stream server = tcp_stream::connect(outer.local_endpoint());
        server.write_all("warp\nweft\r\nno end");
        server.shutdown_send();
        for (const std::string_view answer : weft::io::buffered_reader(server).lines())
            std::printf("%.*s\n", static_cast<int>(answer.size()), answer.data());
    });
    std::printf("relayed: %d bytes forth, %d back\n", static_cast<int>(moved.forth), static_cast<int>(moved.back));
}

// One green thread writes a table, another one reads it: neither needs to know the other.
void show_pipe() {
    auto [reader, writer] = weft::io::make_memory_pipe(64);
    weft::go([to = std::move(writer)]() mutable {
        weft::io::buffered_writer out(to);
        for (int i = 0; i < 1000; ++i) out.write_all("row " + std::to_string(i) + "\n");
    });
    int rows = 0;
    std::size_t longest = 0;
    for (const std::string_view row : weft::io::buffered_reader(reader).lines()) {
        ++rows;
        longest = std::max(longest, row.size());
    }
    std::printf("%d rows, the longest has %zu bytes\n", rows, longest);
}

}  // namespace

int main() {
    return weft::main([] {
        show_lines();
        show_pipe();
    });
}
