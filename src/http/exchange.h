// exchange.h: one request and its response, whatever the version of HTTP. What request and response
// need of the connection.
//
// HTTP/1.1 has one exchange per connection at a time (connection.h), HTTP/2 one per
// stream (http2_stream.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>

#include <weft/event.h>
#include <weft/fs.h>
#include <weft/http/request.h>
#include <weft/http/response.h>
#include <weft/net/buffer.h>

#include "http/upgrade.h"

namespace weft::http::detail {

class exchange {
public:
    exchange() : request_(*this), response_(*this) {}

    exchange(const exchange&) = delete;
    exchange& operator=(const exchange&) = delete;

    // As request::read_some().
    [[nodiscard]] virtual std::size_t read_body(net::mutable_buffer into, std::error_code& ec) = 0;
    virtual void set_body_max(uint64_t bytes) noexcept = 0;

    // Sends the pieces as the next part of the body, after the header if that was not sent.
    virtual void send_body(std::span<const net::const_buffer> pieces, std::error_code& ec) = 0;

    // The same with a part of a file.
    virtual void send_file(fs::file& file, uint64_t offset, uint64_t size, std::error_code& ec) = 0;

    [[nodiscard]] virtual bool is_head_request() const noexcept = 0;

    // Cancels the handler that runs, if any. Any thread.
    virtual void cancel_handler() noexcept = 0;

    // As request::draining().
    [[nodiscard]] virtual weft::event& draining() noexcept = 0;

    // Gives the connection to another protocol, until the handler returns. It has its header from
    // that protocol. drain_by() names what is told that the server ends (nullptr: nothing).
    [[nodiscard]] virtual upgraded upgrade() = 0;
    virtual void drain_by(drain_hook* hook) noexcept = 0;

    [[nodiscard]] const request& asked() const noexcept { return request_; }

    // Calls the handler of the request, or answers that the server has none.
    virtual void dispatch() = 0;

protected:
    ~exchange() = default;

    request request_;
    response response_;
};

// Opens the public types to the connection and the parser.
struct access {
    static request_parts& parts(request& r) noexcept { return r.parts_; }

    static exchange& of(request& r) noexcept { return r.exchange_; }

    static response_parts& parts(response& w) noexcept { return w.parts_; }
};

}  // namespace weft::http::detail
