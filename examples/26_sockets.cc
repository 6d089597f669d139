// 26_sockets: names, datagrams, Unix sockets, and a library that owns a socket. Prints what
// arrives.
//
// - dial() takes a name and tries all its addresses.
// - With wait_fd, a library that has a non-blocking interface blocks only the green thread that
//   calls it.
// - A descriptor can be a case of a select, like a channel.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <weft/net/resolve.h>
#include <weft/net/tcp.h>
#include <weft/net/udp.h>
#include <weft/net/unix.h>
#include <weft/weft.h>

using namespace weft::net;

void a_name_is_dialled() {
    tcp_listener listener("127.0.0.1:0");
    const std::string port = std::to_string(listener.local_endpoint().port());
    tcp_stream near = dial("localhost:" + port);  // ::1 refuses, 127.0.0.1 answers
    std::printf("localhost answers at %s\n", near.remote_endpoint() == listener.local_endpoint() ? "127.0.0.1" : "?");
    try {
        static_cast<void>(dial("localhost"));
    } catch (const std::system_error& e) {
        std::printf("%s\n", e.what());
    }
}

// If a name server answers only for one IP version, the lookup is delayed only briefly.
void a_name_is_looked_up() {
    std::error_code ec;
    const auto all = resolve("localhost", 80, ec, {.resolution_delay = std::chrono::milliseconds(20)});
    std::printf("localhost has %s\n", all.empty() ? "no address" : "an address");
}

void datagrams_arrive_whole() {
    udp_socket server(endpoint::loopback(0));
    udp_socket client = udp_socket::connected_to(server.local_endpoint());
    client.send("two");
    client.send("datagrams");
    for (int i = 0; i < 2; ++i) {
        char text[100];
        const auto [size, from, cut] = server.receive(text);
        std::printf("%zu bytes: %.*s\n", size, static_cast<int>(size), text);
    }
}

void a_file_is_handed_over() {
    auto [near, far] = unix_stream::pair();
    std::printf("the other end belongs to %s\n", near.credentials().pid == ::getpid() ? "this process" : "another");
    std::FILE* file = std::tmpfile();
    std::fputs("written by the one, read by the other", file);
    std::rewind(file);
    near.send_files("f", std::array{::fileno(file)});
    std::fclose(file);

    std::vector<int> files;
    char byte[1];
    static_cast<void>(far.receive_files(byte, files, 1));
    char text[100];
    const ssize_t size = ::pread(files.at(0), text, sizeof(text), 0);
    std::printf("%.*s\n", static_cast<int>(size), text);
    ::close(files[0]);
}

// Like many client libraries: a descriptor, and a function that tells whether it would block.
struct library {
    int fd;

    std::optional<char> poll_answer() const {
        char c = 0;
        return ::recv(fd, &c, 1, MSG_DONTWAIT) == 1 ? std::optional(c) : std::nullopt;
    }
};

char ask(const library& l) {
    for (;;) {
        if (const std::optional<char> answer = l.poll_answer()) return *answer;
        weft::wait_fd(l.fd, weft::fd_events::readable);  // other green threads run in the meantime
    }
}

void a_library_waits() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
    weft::go([to = ends[1]] { static_cast<void>(::send(to, "!", 1, 0)); });
    std::printf("the library says %c\n", ask({ends[0]}));

    const weft::chan<bool> quit(1);
    quit.send(true);
    {
        const weft::watched_fd answers(ends[0]);  // for more than one wait; destroyed before the descriptor is closed
        weft::select(weft::on_readable(answers, [] { std::printf("one more answer\n"); }),
                     weft::on_recv(quit, [](std::optional<bool>) { std::printf("no more answers are wanted\n"); }));
    }
    ::close(ends[0]);
    ::close(ends[1]);
}

int main() {
    return weft::main([] {
        a_name_is_dialled();
        a_name_is_looked_up();
        datagrams_arrive_whole();
        a_file_is_handed_over();
        a_library_waits();
    });
}
