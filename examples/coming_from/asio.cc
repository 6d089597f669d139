// asio.cc: original/chat.cpp, ported from Boost.Asio. A chat room over TCP. The first line of a
// client is its name, each further one goes to all others. A client that is silent for too long is
// disconnected.
// See: docs/coming_from/asio.md
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include <weft/io.h>
#include <weft/net/tcp.h>
#include <weft/weft.h>

using namespace std::chrono_literals;
using weft::net::tcp_listener;
using weft::net::tcp_stream;

namespace {

using line_reader = weft::io::buffered_reader<tcp_stream>;
using outbox = weft::chan<std::string>;

class room {
public:
    void enter(const outbox& member) {
        const std::lock_guard hold(lock_);
        members_.insert(member);
    }

    void leave(const outbox& member) {
        const std::lock_guard hold(lock_);
        members_.erase(member);
    }

    // Waits for no member: one whose outbox is full misses the line.
    void say(const std::string& line, const outbox& except = outbox::nil()) {
        const std::lock_guard hold(lock_);
        for (const outbox& m : members_) {
            if (m != except) static_cast<void>(m.try_send(line));
        }
    }

private:
    weft::mutex lock_;
    std::set<outbox> members_;  // guarded by lock_
};

class server {
public:
    explicit server(std::chrono::milliseconds idle) : idle_(idle) {
        accepting_.go({.name = "accept"}, [this] { accept(); });
    }

    server(const server&) = delete;
    server& operator=(const server&) = delete;

    // Disconnects all clients.
    ~server() {
        listener_.close();
        accepting_.wait();
    }

    [[nodiscard]] weft::net::endpoint address() const { return listener_.local_endpoint(); }

private:
    void accept() {
        weft::scope([&](weft::task_scope& sessions) {
            std::error_code ec;
            for (;;) {
                tcp_stream connection = listener_.accept(ec);
                if (ec) break;
                sessions.go({.name = "session"}, [this, c = std::move(connection)]() mutable {
                    try {
                        serve(c);
                    } catch (const std::system_error&) {
                        // The client has gone.
                    }
                });
            }
            sessions.cancel();
        });
    }

    void serve(tcp_stream& connection) {
        const outbox mine(64);
        weft::scope([&](weft::task_scope& s) {
            s.go({.name = "writer"}, [&] {
                for (const std::string& line : mine) connection.write_all(line);
            });
            read(connection, mine);
            s.cancel();  // the writer
        });
    }

    void read(tcp_stream& connection, const outbox& mine) {
        line_reader in(connection);
        const std::optional<std::string> name = next(in);
        if (!name) return;
        room_.enter(mine);

        const struct membership {
            room& r;
            const outbox& member;
            const std::string& name;

            ~membership() {
                r.leave(member);
                r.say(name + " has left\n");
            }
        } while_here{room_, mine, *name};

        room_.say(*name + " is here\n");
        while (const std::optional<std::string> line = next(in)) room_.say(*name + ": " + *line + "\n", mine);
    }

    // nullopt: the end, or silence for too long.
    std::optional<std::string> next(line_reader& in) const {
        try {
            return weft::with_timeout(idle_, [&] { return std::optional<std::string>(in.read_line()); });
        } catch (const weft::timed_out&) {
            return std::nullopt;
        }
    }

    const std::chrono::milliseconds idle_;
    tcp_listener listener_{weft::net::endpoint::loopback(0)};
    room room_;
    weft::wait_group accepting_;
};

// For the demonstration.
class client {
public:
    client(const weft::net::endpoint& at, const std::string& name) : socket_(tcp_stream::connect(at)) { send(name); }

    void send(const std::string& line) { socket_.write_all(line + "\n"); }

    std::string read_line() { return std::string(in_.read_line().value_or("(the end)")); }

private:
    tcp_stream socket_;
    line_reader in_{socket_};
};

}  // namespace

int main() {
    return weft::main([] {
        server talk(10s);
        server hasty(250ms);
        client anna(talk.address(), "anna");
        std::printf("anna reads: %s\n", anna.read_line().c_str());
        client ben(talk.address(), "ben");
        std::printf("anna reads: %s\n", anna.read_line().c_str());
        std::printf("ben reads:  %s\n", ben.read_line().c_str());
        ben.send("hello");
        std::printf("anna reads: %s\n", anna.read_line().c_str());
        anna.send("good morning");
        std::printf("ben reads:  %s\n", ben.read_line().c_str());
        client silent(hasty.address(), "carol");
        std::printf("carol reads: %s\n", silent.read_line().c_str());
        std::printf("carol reads: %s\n", silent.read_line().c_str());
    });
}
