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
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <weft/http/server.h>

#include "http/client_watch.h"
#include "http/date.h"
#include "http/exchange.h"
#include "http/input.h"
#include "http/parser.h"
#include "http/router.h"
#include "http/server_state.h"

namespace weft::http::detail {

class connection final : public exchange {
public:
    connection(server_state& server, accepted one);
    ~connection() = default;

    // Returns at the end of the connection.
    void serve();

    std::size_t read_body(net::mutable_buffer into, std::error_code& ec) override;
    void set_body_max(uint64_t bytes) noexcept override;
    void send_body(std::span<const net::const_buffer> pieces, std::error_code& ec) override;
    void send_file(fs::file& file, uint64_t offset, uint64_t size, std::error_code& ec) override;

    [[nodiscard]] bool is_head_request() const noexcept override { return is_head_request_; }

    void cancel_handler() noexcept override { watch_->cancel(); }

    [[nodiscard]] weft::event& draining() noexcept override { return server_.draining; }

    [[nodiscard]] upgraded upgrade() override;

    void drain_by(drain_hook* hook) noexcept override { place_.drain_by(hook); }

    void dispatch() override;

private:
    using clock = std::chrono::steady_clock;

    enum class body_form { whole, counted, chunked, to_the_end };

    // ---- connection.cc: from one request to the next.
    void serve_requests();
    [[nodiscard]] bool await_request();
    [[nodiscard]] bool serve_request();
    void reset();
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

    // ---- connection_handle.cc
    void call_handler();
    void call_inside();
    void handle_exception(bool is_cancelled);
    void answer_exception(bool is_cancelled) noexcept;
    void report(const std::exception_ptr& e) noexcept;
    void answer(unsigned code, std::string_view text);
    void answer_without_route();
    void find_route();

    // ---- connection_write.cc
    void finish(std::error_code& ec);
    void finish_whole(std::error_code& ec);

    // Once a request has begun.
    [[nodiscard]] request_parser& parser() noexcept {
        return *parser_;  // NOLINT(bugprone-unchecked-optional-access)
    }

    void begin_head(body_form form, std::optional<uint64_t> size);
    [[nodiscard]] std::optional<uint64_t> announced_size() const;
    [[nodiscard]] bool has_body() const noexcept;
    void choose_form();
    void write_out(std::span<const net::const_buffer> pieces, std::error_code& ec);
    void count_written(clock::time_point begin, std::size_t bytes);
    void report_length(uint64_t said, const std::string& wrote);
    void send_file_piecewise(fs::file& file, uint64_t offset, uint64_t size, std::error_code& ec);

    server_state& server_;
    const std::unique_ptr<transport> client_;
    const std::string peer_;
    input in_;
    const std::shared_ptr<client_watch> watch_;
    place place_;
    date_cache date_;
    std::string out_;  // the header of the response, and what frames its body

    // Of the current request.
    std::optional<request_parser> parser_;  // of each request a new one
    clock::time_point began_;
    std::string first_line_;  // only if it is needed
    const router::route* route_ = nullptr;
    const char* bad_target_ = nullptr;  // not nullptr: why there cannot be a route
    std::string_view path_;             // not decoded
    bool expects_continue_ = false;
    std::error_code body_error_;
    std::chrono::nanoseconds body_time_left_{0};
    std::size_t body_bytes_in_time_ = 0;
    std::optional<std::string> clean_path_;  // if path_ is not clean

    // Of its response.
    body_form form_ = body_form::whole;
    std::optional<uint64_t> announced_;
    uint64_t sent_ = 0;  // bytes of the body
    std::chrono::nanoseconds write_time_left_{0};
    std::size_t written_in_time_ = 0;
    bool has_header_ = true;  // or a refusal of it
    bool is_head_request_ = false;
    bool keep_alive_ = false;
    bool is_upgraded_ = false;    // another protocol has the connection
    bool is_broken_ = false;      // the rest cannot be sent, or must not
    bool is_too_long_ = false;    // the handler wrote more than it announced, before anything was sent
    bool more_may_come_ = false;  // the client does not know that the server closes
};

// Answers 503, and closes.
void turn_away(transport& client);

}  // namespace weft::http::detail
