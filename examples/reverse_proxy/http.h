// http.h: what all files of this program say of Boost.Beast: messages of HTTP/1.1 whose bodies are never in memory as a whole, and a refusal.
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

// A body goes through a piece of memory of ours, one after the other (relay.h).
using request_parser = http::request_parser<http::buffer_body>;
using answer_parser = http::response_parser<http::buffer_body>;

// Thrown by whoever finds that a request cannot be granted. why: one sentence for whoever sent it.
struct refusal {
    http::status status;
    std::string why;
};

}  // namespace reverse_proxy
