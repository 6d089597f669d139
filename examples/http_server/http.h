// http.h: what all files of this program say of Boost.Beast: messages of HTTP/1.1, and a refusal.
//
// Only messages here; reading and writing them is in request_reader.cc and answer_writer.cc, so that the large part of Beast is compiled
// twice and not twenty times. What is no template is compiled once, in boost_sources.cc.
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

// Thrown by whoever finds that a request cannot be granted. why: one sentence for whoever sent it.
struct refusal {
    http::status status;
    std::string why;
};

// The value of a field; empty if it is not there. Of one that is there several times, the first.
[[nodiscard]] inline std::string_view value_of(const http::fields& fields, http::field name) {
    const auto value = fields[name];
    return {value.data(), value.size()};
}

}  // namespace http_server
