// connection.h: one connection of HTTP/1.1: reads a request, calls its handler, writes the
// response, and again. Each connection is a green thread, which runs serve().
//
// A response is sent in one of four forms:
//
//   whole          the handler has returned, and nothing was sent: Content-Length, one system call
//   counted        the handler has set Content-Length
//   chunked        HTTP/1.1 without Content-Length
//   to the end     HTTP/1.0 without Content-Length: the connection ends with the body
//
// After an error within a response the connection is closed without its end, so that it does not
// look complete. docs/http.md names the two cases in which it does.
//
// Pipelining. Clients may send a request before they get the response to the previous one. It waits
// in the input, and is read next.
//
// Threads: the connection's green thread. client_ is also closed, and its read deadline moved, by
// server_state and client_watch.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <weft/http/server.h>

#include "http/client_watch.h"
#include "http/date.h"
#include "http/handling.h"
#include "http/input.h"
#include "http/parser.h"
#include "http/server_state.h"

namespace weft::http::detail {

class connection final : public handling {
public:
    connection(server_state& server, accepted one);
    ~connection() = default;

    // Returns at the end of the connection.
    void serve();

    std::size_t read_body(net::mutable_buffer into, std::error_code& ec) override;
    void set_body_max(uint64_t bytes) noexcept override;
    void send_body(std::span<const net::const_buffer> pieces, std::error_code& ec) override;
    void send_file(fs::file& file, uint64_t offset, uint64_t size, std::error_code& ec) override;

    void cancel_handler() noexcept override { watch_->cancel(); }

    [[nodiscard]] upgraded upgrade() override;

    void drain_by(drain_hook* hook) noexcept override { place_.drain_by(hook); }

private:
    enum class body_form { whole, counted, chunked, to_the_end };

    // ---- connection.cc: from one request to the next.
    void serve_requests();
    [[nodiscard]] bool begins_http2();
    [[nodiscard]] bool await_request();
    [[nodiscard]] bool serve_request();
    void reset();
    void call_handler();
    void log_request();
    [[nodiscard]] bool skip_body();

    // ---- connection_read.cc
    enum class header_result { complete, refused, broken };
    [[nodiscard]] header_result read_header();
    header_result refuse(const refusal& why);
    void note_first_line();
    std::size_t fail_body(errc why, std::error_code& ec);
    [[nodiscard]] bool parse_body(std::error_code& ec);
    std::size_t fill_body(net::mutable_buffer room, std::error_code& ec);
    [[nodiscard]] bool read_directly(net::mutable_buffer into, std::error_code& ec);

    // ---- connection_write.cc
    void finish(std::error_code& ec);
    void finish_whole(std::error_code& ec) override;

    // Once a request has begun.
    [[nodiscard]] request_parser& parser() noexcept {
        return *parser_;  // NOLINT(bugprone-unchecked-optional-access)
    }

    void begin_head(body_form form, std::optional<uint64_t> size);
    void choose_form();
    void write_out(std::span<const net::const_buffer> pieces, std::error_code& ec);
    void count_written(clock::time_point begin, std::size_t bytes);
    void send_file_piecewise(fs::file& file, uint64_t offset, uint64_t size, std::error_code& ec);

    const std::unique_ptr<transport> client_;
    const std::string peer_;
    input in_;
    const std::shared_ptr<client_watch> watch_;
    place place_;
    date_cache date_;
    std::string out_;  // the header of the response, and what frames its body

    clock::time_point came_at_ = clock::time_point::max();  // the first byte, if it could be that of HTTP/2

    // Of the current request.
    std::optional<request_parser> parser_;  // of each request a new one
    std::string first_line_;                // only if it is needed
    bool expects_continue_ = false;
    std::error_code body_error_;
    std::chrono::nanoseconds body_time_left_{0};
    std::size_t body_bytes_in_time_ = 0;

    // Of its response.
    body_form form_ = body_form::whole;
    std::optional<uint64_t> announced_;
    std::chrono::nanoseconds write_time_left_{0};
    std::size_t written_in_time_ = 0;
    bool has_header_ = true;  // or a refusal of it
    bool keep_alive_ = false;
    bool is_upgraded_ = false;    // another protocol has the connection
    bool more_may_come_ = false;  // the client does not know that the server closes
};

// Answers 503, and closes.
void turn_away(transport& client);

}  // namespace weft::http::detail
