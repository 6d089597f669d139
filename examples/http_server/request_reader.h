// request_reader.h: reads the requests of one connection, one after the other. Refuses what is too
// long, too slow, or not HTTP.
//
// Times. Each step has its own deadline, counted from the beginning of the step. A client that
// sends single bytes does not extend it.
//
//        ┌──────── idle_time ────────┐┌───── header_time ─────┐┌─── body_time ───┐
//   ─────┴── silent ── first byte ───┴┴── … the empty line ───┴┴── last byte ────┴── answer, then again
//              closed                        408                     408
//
// Pipelining. Clients may send a request before they get the answer to the previous one. It waits
// in the buffer, and is read next.
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

    // All arguments must outlive the reader.
    request_reader(stream& client, connections::entry& place, const limits& allowed);

    // Waits until a request begins. Returns false if none will come: the client has closed the
    // connection or was silent for too long, or the server is ending.
    [[nodiscard]] bool await_request();

    // Reads the request. Returns nullopt if the connection is broken. Throws refusal; after that
    // the connection cannot be used for another request.
    [[nodiscard]] std::optional<request> read();

    // The request's first line, as far as it was read, for the log; also for a refused request.
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
