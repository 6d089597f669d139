// page.h: a web page that shows what a runtime does, and its figures for Prometheus.
//
// Part of the component weft::observe_page, which is built where the headers of Boost 1.81 are
// found; a program that uses it needs no Boost. The page is served by a runtime of its own with one
// P, so it answers while all Ps of the program compute.
//
//     weft::observe::page page({.port = 8090});
//     std::printf("%s\n", page.url().c_str());
//
//     /            the page                      /api/state   what it shows, as JSON
//     /metrics     OpenMetrics                   /stacks      a dump of all green threads
//     /recording   a recording for Perfetto, if allowed
//
// Nothing can be changed by it. All that is of the program needs the token of the URL, but for
// /metrics from this machine.
//
// See: docs/page.md
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <weft/detail/require.h>
#include <weft/runtime.h>

namespace weft::observe {

struct page_options {
    std::string address = "127.0.0.1";  ///< an IP address, without a port
    uint16_t port = 0;                  ///< 0: the system chooses one, see page::url()

    /// Listen on an address that other machines may reach. The page is plain HTTP: a
    /// listener on the network has the token, too.
    bool allow_remote = false;

    /// Serve /recording, and profiles other than the stacks of green threads: the program then
    /// records, or is sampled, for the time that the request asks for.
    bool allow_recording = false;

    /// What requests must present; 16 to 128 letters, digits, - and _. Empty: 128 random bits.
    std::string token = {};

    unsigned connections_max = 32;  ///< further ones are refused, with status 503

    /// For a whole request to arrive, from its first byte on, and for a connection to be idle.
    std::chrono::milliseconds request_timeout{5000};
};

/// Serves the page while it exists. It may outlive the runtime that it shows. If that runtime is
/// started again, this page does not show it; make a new one.
class page {
public:
    /// Shows the runtime of the calling green thread, or the default one, which is started if it
    /// does not run. Throws std::invalid_argument; std::system_error if the address cannot be used;
    /// what starting a runtime throws.
    explicit page(const page_options& options = {});

    /// Shows this runtime. Also throws std::logic_error if it is stopped.
    explicit page(const runtime& of, const page_options& options = {});

    /// Ends all connections. Waits for a dump or recording that is being written, which takes some
    /// seconds at most.
    ~page();

    page(const page&) = delete;
    page& operator=(const page&) = delete;

    /// The address of the page, with the token.
    [[nodiscard]] std::string url() const;

    [[nodiscard]] uint16_t port() const noexcept;

private:
    struct state;

    std::unique_ptr<state> state_;
};

}  // namespace weft::observe
