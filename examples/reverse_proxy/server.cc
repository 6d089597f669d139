#include "server.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <new>
#include <system_error>
#include <utility>

#include <weft/error.h>
#include <weft/net/tcp.h>
#include <weft/scope.h>
#include <weft/semaphore.h>
#include <weft/signals.h>
#include <weft/time.h>
#include <weft/wait_group.h>

#include "backends.h"
#include "clients.h"
#include "connection.h"
#include "health.h"

namespace reverse_proxy {

namespace {

using weft::net::tcp_listener;
using weft::net::tcp_stream;

// How many clients can be told at the same time that there are too many. Further ones are closed
// without an answer.
constexpr std::ptrdiff_t turned_away_at_a_time = 32;

constexpr std::chrono::milliseconds pause_after_failure{100};

// Starts a green thread for each client, until the listener is closed.
class acceptor {
public:
    acceptor(const surroundings& s, bool tcp) : s_(s), tcp_(tcp) {}

    void run(tcp_listener& listener) {
        for (;;) {
            std::error_code ec;
            tcp_stream accepted = listener.accept(ec);
            if (ec == weft::errc::closed) return;
            if (ec) {
                std::fprintf(stderr, "reverse_proxy: cannot accept a connection: %s\n", ec.message().c_str());
                weft::sleep_for(pause_after_failure);
            } else if (s_.known.reserve()) {
                start(std::move(accepted));
            } else if (!tcp_ && turning_away_.try_acquire()) {
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
                tcp_ ? serve_tcp(std::move(c), s_) : serve_http(std::move(c), s_);
            } catch (const std::bad_alloc&) {
                std::fputs("reverse_proxy: closed a connection: no memory\n", stderr);
            }
            s_.known.give_back();
        });
    }

    const surroundings& s_;
    const bool tcp_;
    weft::counting_semaphore<turned_away_at_a_time> turning_away_{turned_away_at_a_time};
    weft::wait_group started_;
};

}  // namespace

std::size_t serve(const options& how) {
    backends all(how);
    weft::signals::subscription told_to_end = weft::signals::notify({SIGINT, SIGTERM});
    tcp_listener listener(how.listen);
    std::printf("reverse_proxy: %s for %zu back ends\n", listener.local_endpoint().to_string().c_str(), all.size());
    std::fflush(stdout);
    const auto wait_for_end = [&] {
        static_cast<void>(told_to_end.recv());
        told_to_end.stop();  // a second signal ends the process at once
    };
    return serve_until(wait_for_end, listener, all, how);
}

std::size_t serve_until(const std::function<void()>& wait_for_end,
                        tcp_listener& listener,
                        backends& all,
                        const options& how) {
    clients known(how.allowed.connections);
    const surroundings s{how.allowed, all, known};
    std::size_t cut_off = 0;
    weft::scope([&](weft::task_scope& lookers) {
        for (std::size_t i = 0; i < all.size(); ++i) lookers.go([&, i] { look_after(all[i], how.health); });
        acceptor accepting(s, how.tcp);
        weft::wait_group accepted;
        accepted.go([&] { accepting.run(listener); });

        wait_for_end();
        listener.close();
        accepted.wait();
        cut_off = known.end_all(how.allowed.grace);
        accepting.wait();
        lookers.cancel();
    });
    return cut_off;
}

}  // namespace reverse_proxy
