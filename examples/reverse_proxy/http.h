// http.h: the types of Boost.Beast that all files of this program use: HTTP/1.1 messages whose
// bodies are never in memory as a whole, and a refusal.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/verb.hpp>
#include <string>

#include <weft/asio/stream.h>
#include <weft/net/tcp.h>

namespace reverse_proxy {

namespace http = boost::beast::http;

using stream = weft::asio::stream<weft::net::tcp_stream>;

// A body passes through a buffer of the program, piece by piece (relay.h).
using request_parser = http::request_parser<http::buffer_body>;
using answer_parser = http::response_parser<http::buffer_body>;

// Thrown where a request cannot be granted. why is one sentence for the client.
struct refusal {
    http::status status;
    std::string why;
};

}  // namespace reverse_proxy
