// http.h: the types of Boost.Beast that all files of this program use: HTTP/1.1 messages, and a
// refusal.
//
// This header contains messages only. Reading and writing are in request_reader.cc and
// answer_writer.cc, so that the large part of Beast is compiled twice and not twenty times. The
// parts that are not templates are compiled once, in boost_sources.cc.
#pragma once

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/verb.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace http_server {

namespace http = boost::beast::http;

using request = http::request<http::string_body>;

// Thrown where a request cannot be granted. why is one sentence for the client.
struct refusal {
    http::status status;
    std::string why;
};

// Returns the value of a field, or of its first occurrence; empty if the field is missing.
[[nodiscard]] inline std::string_view value_of(const http::fields& fields, http::field name) {
    const auto value = fields[name];
    return {value.data(), value.size()};
}

}  // namespace http_server
