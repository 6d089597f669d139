// request_reader.h: reads the requests of one connection, one after the other, and nothing that is too long, too slow or no HTTP.
//
// Times. Each step has a deadline of its own, counted from its beginning: so a client that sends a byte now and then gains nothing.
//
//        ┌──────── idle_time ────────┐┌───── header_time ─────┐┌─── body_time ───┐
//   ─────┴── silent ── first byte ───┴┴── … the empty line ───┴┴── last byte ────┴── answer, and from the beginning
//              closed                        408                     408
//
// Pipelining. Clients may send a request before the answer to the last one has come: it waits in the buffer, and is read next.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <optional>
#include <string>

#include <weft/asio/stream.h>

#include "connections.h"
#include "http.h"
#include "options.h"
#include "transport.h"

namespace http_server {

class request_reader {
public:
    using stream = weft::asio::stream<transport>;

    // All must live longer.
    request_reader(stream& client, connections::entry& place, const limits& allowed);

    // Waits until a request begins. False: there is none, because the client has gone, was silent for too long, or all is to end.
    [[nodiscard]] bool await_request();

    // Reads it. Nothing: the connection is broken. Throws refusal; the connection cannot be used for another request then.
    [[nodiscard]] std::optional<request> read();

    // The request's first line as far as it was read, for the log: also where it was refused.
    [[nodiscard]] const std::string& first_line() const noexcept { return first_line_; }

private:
    using parser = http::request_parser<http::string_body>;

    bool read_until_done(parser& p, bool header_only);
    void note_first_line();

    stream& client_;
    connections::entry& place_;
    const limits& allowed_;
    boost::beast::flat_buffer buffer_;
    std::string first_line_;
};

}  // namespace http_server
