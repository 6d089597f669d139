// http.h: HTTP requests and responses of one connection: Boost.Beast's parser and serializer over a
// socket of weft.
//
// A request is a GET or HEAD without a body, of at most request_max bytes. It has to arrive within
// the timeout, and a response has to be taken at response_rate at least. So no client can hold a
// connection for long.
//
// Threads: one green thread for each connection.
#pragma once

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/status.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <weft/net/tcp.h>

#include "observe/page/memory_file.h"

namespace weft::observe::detail {

namespace http = boost::beast::http;

inline constexpr std::size_t request_max = 8192;
inline constexpr std::size_t target_max = 1024;
inline constexpr int64_t response_rate = 64 * 1024;  // bytes each second, after response_allowance
inline constexpr std::chrono::seconds response_allowance{5};

using request = http::request<http::empty_body>;

struct response {
    http::status status = http::status::ok;
    std::string type = "text/plain; charset=utf-8";
    std::string body;
    std::optional<memory_file> file;  // in place of body
    std::vector<std::pair<std::string, std::string>> fields;
};

// A response with a line of text.
[[nodiscard]] response plain(http::status status, std::string_view text);

class connection {
public:
    connection(net::tcp_stream accepted, std::chrono::milliseconds timeout) noexcept
        : stream_(std::move(accepted)), timeout_(timeout) {}

    // The next request. None: the client has ended the connection, or was idle for too long, or
    // sent something else. Then it was answered, and the connection ends.
    [[nodiscard]] std::optional<request> read();

    // False: the connection ends.
    [[nodiscard]] bool write(const request& asked, const response& answer);

    // Answers without a request. The connection ends.
    void refuse(const response& answer);

    [[nodiscard]] net::tcp_stream& stream() noexcept { return stream_; }

private:
    [[nodiscard]] bool fill(std::error_code& ec);
    [[nodiscard]] bool send(const response& answer, unsigned version, bool keep_alive, bool with_body);
    void end();

    net::tcp_stream stream_;
    std::chrono::milliseconds timeout_;
    std::size_t filled_ = 0;
    char buffer_[2 * request_max];
};

}  // namespace weft::observe::detail
