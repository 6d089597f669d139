// exchange_state.h: one request of a program, with its redirects and retries, up to the end of its
// body. A reply owns it.
//
// It is a loop over transfers, in the caller's green thread:
//
//   set up ─▶ start ─▶ await the header, feed the upload ─┬─▶ reply
//     ▲                                                   ├─▶ redirect: the next hop ───▶ again
//     └────────────────── pause, if it may be repeated ◀──┴─▶ error, 429, 502, 503, 504
//
// If an exception leaves a wait, the current transfer is abandoned: the driver removes it and
// closes its connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include <weft/http/client.h>

#include "http_client/client_state.h"
#include "http_client/set_up.h"
#include "http_client/transfer.h"

namespace weft::http::detail {

class exchange_state {
public:
    // Throws std::system_error: client_errc::bad_url, std::invalid_argument.
    exchange_state(std::shared_ptr<client_state> of, client_request r);

    ~exchange_state() { leave(); }

    exchange_state(const exchange_state&) = delete;
    exchange_state& operator=(const exchange_state&) = delete;

    // Sends it, until there is a final header. Throws as client::send().
    void run();

    // As reply::read_some() and body().
    [[nodiscard]] std::size_t read_some(net::mutable_buffer b);
    const std::string& body();

    [[nodiscard]] const transfer& current() const noexcept { return *transfer_; }

    [[nodiscard]] const std::string& url() const noexcept { return hop_.url; }

    [[nodiscard]] const std::string& text() const noexcept { return text_; }

    unsigned redirects = 0;
    unsigned retries = 0;

private:
    // Whether body_from provides the body: it cannot be sent twice.
    [[nodiscard]] bool is_streaming() const noexcept { return hop_.keeps_body && request_.body_from; }

    [[nodiscard]] wait_limits limits() const noexcept;
    void begin();
    [[nodiscard]] std::error_code await_head();
    void feed();
    [[nodiscard]] bool has_what_it_needs() const noexcept;
    [[nodiscard]] bool has_ended() const noexcept;
    [[nodiscard]] bool follow();
    void drop_body();
    [[nodiscard]] bool pause_for_retry(std::error_code failed);
    void leave() noexcept;
    [[noreturn]] void fail(std::error_code why);

    const std::shared_ptr<client_state> client_;
    client_request request_;
    const shared_text body_;
    hop hop_;
    int64_t deadline_ns_;
    std::shared_ptr<transfer> transfer_;
    std::error_code failed_;  // of a read; later reads fail, too
    std::string text_;
};

}  // namespace weft::http::detail
