// handling.h: what an exchange does, whatever the version of HTTP: finds the handler, calls it,
// turns what it throws into a response, and logs the request.
//
// connection.h is the exchange of HTTP/1.1, http2_stream.h that of HTTP/2.
//
// Threads: the green thread that runs the handler.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <weft/detail/cancel.h>
#include <weft/http/server.h>

#include "http/exchange.h"
#include "http/router.h"
#include "http/server_state.h"

namespace weft::http::detail {

// In logs, if there was no response because the client had gone; no client gets it.
inline constexpr unsigned client_closed_request = 499;

// server.h: body_time and write_time are for each so many bytes.
inline constexpr std::size_t bytes_in_time = std::size_t{256} * 1024;

class handling : public exchange {
public:
    [[nodiscard]] bool is_head_request() const noexcept override { return is_head_request_; }

    [[nodiscard]] weft::event& draining() noexcept override { return server_.draining; }

    void dispatch() override;

protected:
    using clock = std::chrono::steady_clock;

    explicit handling(server_state& server) noexcept : server_(server) {}

    ~handling() = default;

    // Before each request.
    void reset_handling();

    // Splits the target of the request, and finds the handler.
    void find_route();

    // Calls the handler with what is around it. running: what cancels its waits. Never throws what
    // the handler throws.
    void call_chain(weft::detail::cancel_context& running);

    // A response with a line of text, in place of what the handler wrote and was not sent.
    void answer(unsigned code, std::string_view text);

    // A wrong Content-Length of the handler.
    void report_length(uint64_t said, const std::string& wrote);

    // A header, or trailers, of the handler that are too large.
    void report_size(std::size_t bytes, std::size_t most);

    // Sends what is left of the response. False: it has ended, or cannot be sent.
    [[nodiscard]] bool send_rest(std::error_code& ec);

    // Sends the whole response, of which nothing was sent.
    virtual void finish_whole(std::error_code& ec) = 0;

    // The Content-Length that the handler has set, if it is a number.
    [[nodiscard]] std::optional<uint64_t> announced_size() const;

    // Whether a response with that status may have a body.
    [[nodiscard]] static bool status_has_body(unsigned code) noexcept;

    // Whether bytes of the body are sent.
    [[nodiscard]] bool has_body() const noexcept;

    // Whether the request's body has a content coding that the handler does not expect.
    [[nodiscard]] bool is_encoded_unexpectedly() const noexcept;

    // The first line of the request, from its parts.
    [[nodiscard]] std::string first_line() const;

    // Counts the request, and calls access_log.
    void log(std::string_view peer, std::string_view first_line);

    server_state& server_;

    // Of the current request.
    clock::time_point began_;
    const router::route* route_ = nullptr;
    const char* bad_target_ = nullptr;       // not nullptr: why there cannot be a route
    std::string_view path_;                  // not decoded
    std::optional<std::string> clean_path_;  // if path_ is not clean

    // Of its response.
    uint64_t sent_ = 0;  // bytes of the body
    bool is_head_request_ = false;
    bool is_broken_ = false;    // the rest cannot be sent, or must not
    bool is_too_long_ = false;  // the handler wrote more than it announced, before anything was sent

private:
    void handle_exception(bool is_cancelled);
    void answer_exception(bool is_cancelled) noexcept;
    void report(const std::exception_ptr& e) noexcept;
    void answer_without_route();
};

}  // namespace weft::http::detail
