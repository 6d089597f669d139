// http2_stream.h: one request of HTTP/2 and its response. See http2_session.h.
//
// The reader makes it, and fills it with the header. Then it belongs to a green thread of its own,
// which runs run().
//
// End of a stream:
//
//   the handler has returned                          END_STREAM
//   … and the client still sends the body             END_STREAM, and RST_STREAM(NO_ERROR)
//   … but the response is incomplete                  RST_STREAM(INTERNAL_ERROR)
//   the client has reset it, or broken a rule         the handler is cancelled
//
// Locks: the session's lock_ guards what the session and the handler share.
// Threads: add_field, end_header: the reader. x_locked: any, with the lock. All else: its own.
#pragma once

#include <nghttp2/nghttp2.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <weft/condition_variable.h>
#include <weft/detail/cancel.h>
#include <weft/mutex.h>

#include "http/handling.h"

namespace weft::http::detail {

class http2_session;

class http2_stream final : public handling {
public:
    http2_stream(http2_session& session, int32_t id);
    ~http2_stream() = default;

    [[nodiscard]] int32_t id() const noexcept { return id_; }

    // ---- The header, and trailers. add_field() returns how many bytes there are so far, as
    // SETTINGS_MAX_HEADER_LIST_SIZE counts them. It keeps only those within the limit.
    std::size_t add_field(std::string_view name, std::string_view value);
    void end_header();
    void add_trailer_locked(std::string_view name, std::string_view value);

    // ---- The body of the request.
    void add_body_locked(std::string_view data);
    void end_body_locked() noexcept;

    // Nothing more is received.
    void lose_body_locked() noexcept;

    // Nothing more is received or sent. Cancels the handler.
    void close_locked();

    [[nodiscard]] bool is_finished_locked() const noexcept { return is_end_sent_; }

    void cancel_locked() noexcept;
    void drop_body_locked() noexcept;

    // ---- The body of the response: what nghttp2 asks for, and what was sent. take_locked()
    // returns false if the handler has gone meanwhile.
    [[nodiscard]] ssize_t offer_locked(std::size_t most, uint32_t& flags);
    [[nodiscard]] bool take_locked(std::size_t size, std::string& to);
    void end_sent_locked() noexcept;

    // ---- Its green thread: calls the handler, and sends the response.
    void run();

    std::size_t read_body(net::mutable_buffer into, std::error_code& ec) override;

    void set_body_max(uint64_t bytes) noexcept override { body_max_ = bytes; }

    void send_body(std::span<const net::const_buffer> pieces, std::error_code& ec) override;
    void send_file(fs::file& file, uint64_t offset, uint64_t size, std::error_code& ec) override;
    void cancel_handler() noexcept override;
    [[nodiscard]] upgraded upgrade() override;

    void drain_by(drain_hook* /*hook*/) noexcept override {}

private:
    using locked = std::unique_lock<weft::mutex>;

    [[nodiscard]] std::optional<std::string> refuse(unsigned& code);
    void call_handler();
    void respond();
    void skip_body();
    void finish(std::error_code& ec);
    void finish_whole(std::error_code& ec) override;
    [[nodiscard]] bool is_too_large(std::span<const nghttp2_nv> fields, std::error_code& ec);
    void begin_response(std::optional<uint64_t> size, bool has_data, std::error_code& ec);
    void begin_response_of_unknown_size(std::error_code& ec);
    void send(std::span<const net::const_buffer> pieces, bool is_last, std::error_code& ec);
    void wait_until_sent(locked& held, std::error_code& ec);
    std::size_t fail_body(errc why, std::error_code& ec);
    void ask_for_body_locked();
    void wait_for_body(locked& held, std::error_code& ec);
    [[nodiscard]] std::size_t take_body_locked(net::mutable_buffer into);

    [[nodiscard]] bool is_sent() const noexcept { return unsent_ == 0 && (!is_last_ || is_end_sent_); }

    http2_session& session_;
    const int32_t id_;

    // The reader, then the stream's green thread.
    std::string authority_;
    std::string cookies_;
    std::size_t header_bytes_ = 0;
    std::size_t trailer_bytes_ = 0;
    bool has_two_authorities_ = false;
    bool expects_continue_ = false;

    // The stream's green thread.
    std::error_code body_error_;
    uint64_t body_max_;
    uint64_t body_read_ = 0;
    std::optional<uint64_t> announced_;
    std::chrono::nanoseconds body_time_left_;
    std::size_t body_bytes_in_time_ = 0;

    weft::condition_variable changed_;  // the handler waits
    // Guarded by the session's lock_.
    weft::detail::cancel_context* running_ = nullptr;
    std::string body_;  // received and not read, from body_begin_ on
    std::size_t body_begin_ = 0;
    headers trailers_;
    std::span<const net::const_buffer> pieces_;  // of the response, to be sent
    std::size_t piece_sent_ = 0;                 // bytes of the first of them
    std::size_t unsent_ = 0;                     // bytes of all
    clock::time_point wait_began_;
    std::chrono::nanoseconds write_time_left_;
    std::size_t written_in_time_ = 0;
    bool is_body_ended_ = false;
    bool is_body_lost_ = false;
    bool is_last_ = false;  // pieces_ are the last ones
    bool is_end_sent_ = false;
    bool is_closed_ = false;
};

}  // namespace weft::http::detail
