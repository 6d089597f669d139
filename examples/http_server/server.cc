#include "server.h"

#include <csignal>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <weft/http/files.h>
#include <weft/http/server.h>
#include <weft/net/tcp.h>
#include <weft/signals.h>
#include <weft/wait_group.h>
#if WITH_WEFT_TLS
#include <weft/tls/stream.h>
#endif

#include "access_log.h"
#include "open_files.h"
#include "site.h"

namespace http_server {

namespace http = weft::http;

using weft::net::tcp_listener;

namespace {

http::server_options server_options_of(const limits& allowed, access_log& log) {
    http::server_options how;
    how.header_max = allowed.header_bytes;
    how.body_max = allowed.body_bytes;
    how.connections_max = connections_within(raise_open_files_limit(), allowed.connections);
    how.header_time = allowed.header_time;
    how.body_time = allowed.body_time;
    how.idle_time = allowed.idle_time;
    how.write_time = allowed.write_time;
    if (log.is_on()) how.access_log = [&log](const http::access_entry& entry) { log.line(entry); };
    return how;
}

#if WITH_WEFT_TLS

// Throws std::runtime_error, which says what is wrong with the files.
weft::tls::context tls_context(const options& how) {
    try {
        const auto own = weft::tls::certificate::from_files(how.certificate, how.key);
        return weft::tls::context::server({.own = {own}, .protocols = {"http/1.1"}});
    } catch (const std::system_error& e) {
        throw std::runtime_error("cannot use " + how.certificate + " with " + how.key + ": " + e.what());
    }
}

#endif

// Serves until the server is shut down.
class front {
public:
    explicit front(const options& how) {
        if (how.certificate.empty()) return;
#if WITH_WEFT_TLS
        context_ = tls_context(how);
        scheme_ = "https";
#else
        throw std::runtime_error("this http_server was built without TLS: install libssl-dev, and build weft again");
#endif
    }

    [[nodiscard]] const char* scheme() const noexcept { return scheme_; }

    void serve(http::server& server, tcp_listener& listener) const {
#if WITH_WEFT_TLS
        if (context_) {
            server.serve(listener, [this](weft::net::tcp_stream c) {
                return weft::tls::stream::server(std::move(c), *context_);
            });
            return;
        }
#endif
        server.serve(listener);
    }

private:
    const char* scheme_ = "http";
#if WITH_WEFT_TLS
    std::optional<weft::tls::context> context_;
#endif
};

}  // namespace

std::size_t serve(const options& how) {
    http::files root(how.root);
    const front secured(how);
    access_log log(how.log);
    http::server server(server_options_of(how.allowed, log));
    add_site(server, std::move(root), log.lines_lost());

    weft::signals::ignore({SIGPIPE});  // the log may be a pipe without a reader
    weft::signals::subscription told_to_end = weft::signals::notify({SIGINT, SIGTERM});
    tcp_listener listener(how.listen);
    std::printf("http_server: serving %s at %s://%s/\n", how.root.c_str(), secured.scheme(),
                listener.local_endpoint().to_string().c_str());
    std::fflush(stdout);

    weft::wait_group serving;
    serving.go([&] { secured.serve(server, listener); });
    static_cast<void>(told_to_end.recv());
    told_to_end.stop();  // a second signal ends the process at once
    const std::size_t cut_off = server.shutdown(how.allowed.grace);
    serving.wait();
    std::fprintf(stderr, "http_server: ended after %llu requests\n",
                 static_cast<unsigned long long>(server.stats().requests));
    return cut_off;
}

}  // namespace http_server
