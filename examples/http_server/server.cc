#include "server.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include <weft/error.h>
#include <weft/net/tcp.h>
#include <weft/semaphore.h>
#include <weft/signals.h>
#include <weft/time.h>
#include <weft/wait_group.h>

#include "access_log.h"
#include "connection.h"
#include "connections.h"
#include "counters.h"
#include "document_root.h"
#include "open_files.h"
#include "site.h"
#include "transport.h"

namespace http_server {

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
                std::fprintf(stderr, "http_server: cannot accept a connection: %s\n", ec.message().c_str());
                weft::sleep_for(pause_after_failure);
                continue;
            }
            if (s_.all.reserve()) {
                start(std::move(accepted));
            } else {
                start_turning_away(std::move(accepted));
            }
        }
    }

    // Waits until all started green threads have finished.
    void wait() { started_.wait(); }

private:
    void start(tcp_stream accepted) {
        ++s_.counted.connections;
        ++s_.counted.open;
        const bool started = try_go([this, c = std::move(accepted)]() mutable {
            try {
                serve_connection(std::move(c), s_);
            } catch (const std::bad_alloc&) {
                std::fputs("http_server: closed a connection: no memory\n", stderr);
            }
            end_one();
        });
        if (!started) end_one();
    }

    void end_one() {
        --s_.counted.open;
        s_.all.give_back();
    }

    void start_turning_away(tcp_stream accepted) {
        ++s_.counted.turned_away;
        if (!turning_away_.try_acquire()) return;
        const bool started = try_go([this, c = std::move(accepted)]() mutable {
            turn_away(std::move(c), s_);
            turning_away_.release();
        });
        if (!started) turning_away_.release();
    }

    // Returns false if no green thread can be started; the connection is closed then.
    template <typename F>
    bool try_go(F f) {
        try {
            started_.go(std::move(f));
            return true;
        } catch (const weft::resource_exhausted&) {
            std::fputs("http_server: closed a connection: no memory for another green thread\n", stderr);
        } catch (const std::bad_alloc&) {
            std::fputs("http_server: closed a connection: no memory\n", stderr);
        }
        weft::sleep_for(pause_after_failure);
        return false;
    }

    const surroundings& s_;
    weft::counting_semaphore<turned_away_at_a_time> turning_away_{turned_away_at_a_time};
    weft::wait_group started_;
};

}  // namespace

std::size_t serve(const options& how) {
    limits allowed = how.allowed;
    allowed.connections = connections_within(raise_open_files_limit(), allowed.connections);
    const document_root root(how.root);
    const security secured = how.certificate.empty() ? security() : security(how.certificate, how.key);
    counters counted;
    access_log log(how.log, counted);
    const site content(root, counted);
    connections all(allowed.connections);
    const surroundings s{allowed, secured, content, all, counted, log};

    weft::signals::ignore({SIGPIPE});  // the log may be a pipe without a reader
    weft::signals::subscription told_to_end = weft::signals::notify({SIGINT, SIGTERM});
    tcp_listener listener(how.listen);
    std::printf("http_server: serving %s at %s://%s/\n", how.root.c_str(), secured.scheme(),
                listener.local_endpoint().to_string().c_str());
    std::fflush(stdout);

    acceptor accepting(s);
    weft::wait_group accepted;
    accepted.go([&] { accepting.run(listener); });

    static_cast<void>(told_to_end.recv());
    told_to_end.stop();  // a second signal ends the process at once
    listener.close();
    accepted.wait();
    const std::size_t cut_off = all.end_all(allowed.grace);
    accepting.wait();
    std::fprintf(stderr, "http_server: ended after %llu requests\n", static_cast<unsigned long long>(counted.requests));
    return cut_off;
}

}  // namespace http_server
