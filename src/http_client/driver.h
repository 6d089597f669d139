// driver.h: the green thread of a client that calls libcurl.
//
// libcurl can run many transfers in one thread: its multi interface says which sockets it waits for
// and when its next timer is due, and is called when one of these has happened. It is not
// thread-safe. So one green thread, the driver, owns the multi handle and all that belongs to it:
// easy handles of running transfers, connections, cookies, TLS sessions. Callers post to its
// mailbox and park until their transfer has changed.
//
//   1. The driver waits for the first of: an order in the mailbox, a ready socket, libcurl's timer.
//   2. It takes the orders: adds transfers to the multi handle, resumes them, removes them.
//   3. It calls curl_multi_socket_action() for each ready socket, and for the timer if it is due.
//      In these calls libcurl reads, writes, and calls on_field() and others of transfer.h.
//   4. It removes the transfers that libcurl has finished, and wakes their callers.
//
// No call of libcurl waits: sockets do not block, the names of hosts are resolved by threads of
// libcurl, which report by a socket. CURLOPT_QUICK_EXIT makes the removal of a transfer not wait
// for such a thread; without it a cancelled request would stop all others until its query has
// ended. Callbacks take a transfer's lock, which is held for a few instructions, and call no code
// of users.
//
// The driver moves between OS threads where it waits, so never within a call of libcurl, except for
// a contended lock in a callback. TLS libraries keep their queue of errors per OS thread, and
// libcurl reads it directly after the call that fills it, without a callback in between.
//
// Rejected:
// - weft::blocking() around curl_easy_perform(): an OS thread per request, and no cancellation.
// - A multi handle for each caller: no connection is shared, and each would need a driver anyway.
// - A multi handle that callers lock and drive in turn: a caller would run other callers' TLS, and
//   a cancelled one would have to hand the role on.
// - Resolving by weft::net::resolve, and CURLOPT_RESOLVE: with a proxy, only libcurl knows which
//   name it needs. libcurl tries addresses in parallel and keeps names for a minute in either case.
//
// Invariants: I1. Only the driver calls libcurl for running_, multi_, share_.
//             I2. A transfer is in running_ exactly while its easy handle is in multi_.
// Stack:      libcurl and OpenSSL run on the driver's stack: 12 KiB of it (measured with TLS 1.3, by
//             RUN_DEBUG=stack_use; libcurl 7.88, OpenSSL 3.0).
// See:        transfer.h, mailbox.h, socket_set.h
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <unordered_map>

#include <weft/http/client.h>

#include "http_client/curl.h"
#include "http_client/mailbox.h"
#include "http_client/socket_set.h"
#include "http_client/transfer.h"

namespace weft::http::detail {

class driver {
public:
    static constexpr std::size_t stack_size = 256 * 1024;

    // Throws std::bad_alloc, std::system_error.
    driver(std::shared_ptr<mailbox> orders, const client_options& how);
    driver(const driver&) = delete;
    driver& operator=(const driver&) = delete;
    ~driver() = default;

    // Until the mailbox is closed, or the runtime shuts down. Then all transfers have failed.
    void run() noexcept;

private:
    void wait_for_work();
    void take_orders();
    void act_on_sockets();
    void act_on_time();
    void report_finished();

    void start(const std::shared_ptr<transfer>& what);
    void resume(transfer& what);
    void remove(transfer& what, std::error_code why, std::string words) noexcept;
    void end(std::error_code why) noexcept;

    // What libcurl's multi interface has returned. An error of it ends the driver.
    void check(CURLMcode result) noexcept;

    static int on_socket(CURL* easy, curl_socket_t fd, int what, driver* me, void* unused) noexcept;
    static int on_timer(CURLM* multi, long ms, driver* me) noexcept;

    const std::shared_ptr<mailbox> orders_;
    const bool cookies_;
    socket_set sockets_;
    share_handle share_;  // outlives multi_
    multi_handle multi_;
    std::unordered_map<transfer*, std::shared_ptr<transfer>> running_;
    int64_t timer_ns_;
    std::string broken_;  // why it cannot go on
};

}  // namespace weft::http::detail
