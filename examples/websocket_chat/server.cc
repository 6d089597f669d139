#include "server.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <new>
#include <system_error>
#include <utility>

#include <weft/error.h>
#include <weft/net/tcp.h>
#include <weft/semaphore.h>
#include <weft/signals.h>
#include <weft/time.h>
#include <weft/wait_group.h>

#include "rooms.h"
#include "visitor.h"
#include "visitors.h"

namespace websocket_chat {

namespace {

using weft::net::tcp_listener;
using weft::net::tcp_stream;

// How many clients can be told at the same time that there are too many. Further ones are closed
// without an answer.
constexpr std::ptrdiff_t turned_away_at_a_time = 32;

constexpr std::chrono::milliseconds pause_after_failure{100};

// Starts a green thread for each connection, until the listener is closed.
class acceptor {
public:
    explicit acceptor(const surroundings& s) : s_(s) {}

    void run(tcp_listener& listener) {
        for (;;) {
            std::error_code ec;
            tcp_stream accepted = listener.accept(ec);
            if (ec == weft::errc::closed) return;
            if (ec) {
                std::fprintf(stderr, "websocket_chat: cannot accept a connection: %s\n", ec.message().c_str());
                weft::sleep_for(pause_after_failure);
            } else if (s_.all.reserve()) {
                start(std::move(accepted));
            } else if (turning_away_.try_acquire()) {
                started_.go([this, c = std::move(accepted)]() mutable {
                    turn_away(std::move(c));
                    turning_away_.release();
                });
            }
        }
    }

    // Waits until all started green threads have finished.
    void wait() { started_.wait(); }

private:
    void start(tcp_stream accepted) {
        started_.go([this, c = std::move(accepted)]() mutable {
            try {
                websocket_chat::serve(std::move(c), s_);
            } catch (const std::bad_alloc&) {
                std::fputs("websocket_chat: closed a connection: no memory\n", stderr);
            }
            s_.all.give_back();
        });
    }

    const surroundings& s_;
    weft::counting_semaphore<turned_away_at_a_time> turning_away_{turned_away_at_a_time};
    weft::wait_group started_;
};

}  // namespace

void serve(const options& how) {
    weft::signals::subscription told_to_end = weft::signals::notify({SIGINT, SIGTERM});
    tcp_listener listener(how.listen);
    std::printf("websocket_chat: http://%s/\n", listener.local_endpoint().to_string().c_str());
    std::fflush(stdout);
    const auto wait_for_end = [&] {
        static_cast<void>(told_to_end.recv());
        told_to_end.stop();  // a second signal ends the process at once
    };
    serve_until(wait_for_end, listener, how.allowed);
}

void serve_until(const std::function<void()>& wait_for_end, tcp_listener& listener, const limits& allowed) {
    rooms all_rooms;
    visitors all(allowed.connections);
    const surroundings s{allowed, all_rooms, all};
    acceptor accepting(s);
    weft::wait_group accepted;
    accepted.go([&] { accepting.run(listener); });

    wait_for_end();
    listener.close();
    accepted.wait();
    all.end_all(allowed.close_time);
    accepting.wait();
}

}  // namespace websocket_chat
