#include "health.h"

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <string>
#include <system_error>
#include <utility>

#include <weft/asio/stream.h>
#include <weft/cancel.h>
#include <weft/error.h>
#include <weft/time.h>

#include "http.h"

namespace reverse_proxy {

namespace {

// Returns what is wrong with the back end; empty if it is healthy.
std::string ask(weft::net::tcp_stream connection, const backend& b, const std::string& path) {
    weft::asio::stream s(std::move(connection));
    http::request<http::empty_body> question(http::verb::get, path, 11);
    question.set(http::field::host, b.address());
    question.set(http::field::user_agent, "weft reverse_proxy, health check");
    question.keep_alive(false);
    http::write(s, question);
    boost::beast::flat_buffer buffer;
    http::response_parser<http::buffer_body> answer;  // only the header is read
    http::read_header(s, buffer, answer);
    const unsigned status = answer.get().result_int();
    return status < 400 ? std::string() : "it answers " + path + " with " + std::to_string(status);
}

void check(backend& b, const checks& how) {
    try {
        std::error_code ec;
        weft::net::tcp_stream connection = b.connect(ec);
        if (ec) return;  // connect() has reported it
        const std::string wrong = how.path.empty() ? std::string() : ask(std::move(connection), b, how.path);
        if (wrong.empty()) {
            b.is_well();
        } else {
            b.has_failed(wrong);
        }
    } catch (const boost::system::system_error& e) {
        b.has_failed(e.code() == boost::asio::error::timed_out ? "it does not answer" : e.code().message());
    }
}

}  // namespace

void look_after(backend& b, const checks& how) {
    for (;;) {
        try {
            weft::with_timeout(how.time, [&] { check(b, how); });
        } catch (const weft::timed_out&) {
            b.has_failed("it does not answer");
        }
        b.drop_old();
        weft::sleep_for(how.every);
    }
}

}  // namespace reverse_proxy
