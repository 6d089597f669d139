// http2_stream.cc: see http2_stream.h.
#include "http/http2_stream.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include <weft/cancel.h>
#include <weft/error.h>
#include <weft/http/status.h>

#include "http/http2_session.h"
#include "http/later.h"
#include "http/parser.h"
#include "http/text.h"

namespace weft::http::detail {

namespace {

// nghttp2 asks for a part of the body. The handler may be gone, and RST_STREAM not sent yet.
ssize_t offer_body(nghttp2_session* native,
                   int32_t id,
                   uint8_t* /*to*/,
                   size_t most,
                   uint32_t* flags,
                   nghttp2_data_source* /*source*/,
                   void* /*session*/) {
    auto* const stream = static_cast<http2_stream*>(nghttp2_session_get_stream_user_data(native, id));
    try {
        if (stream != nullptr) return stream->offer_locked(most, *flags);
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    } catch (const std::bad_alloc&) {
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
}

constexpr std::size_t field_overhead_http2 = 32;  // RFC 9113, 6.5.2
constexpr std::size_t read_at_a_time = std::size_t{64} * 1024;
constexpr std::size_t skip_bytes = std::size_t{256} * 1024;
constexpr std::chrono::milliseconds skip_time{500};
constexpr uint64_t sent_whole = uint64_t{32} * 1024;  // shorter files are sent with the header

// nghttp2 copies names, in lower case, and values.
nghttp2_nv pair_of(std::string_view name, std::string_view value) noexcept {
    const auto bytes = [](std::string_view text) {
        return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));  // NOLINT(*-const-cast): it is not changed
    };
    return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

void throw_if_no_memory(int result) {
    if (result == NGHTTP2_ERR_NOMEM) throw std::bad_alloc();
}

}  // namespace

http2_stream::http2_stream(http2_session& session, int32_t id)
    : handling(session.server_),
      session_(session),
      id_(id),
      body_max_(session.server_.how.body_max),
      body_time_left_(session.server_.how.body_time),
      write_time_left_(session.server_.how.write_time) {
    constexpr unsigned version = 20;
    reset_handling();
    request_parts& r = access::parts(request_);
    r.peer = session.peer_;
    r.is_secure = session.client_.is_secure();
    r.version = version;
}

// ---- The header.

std::size_t http2_stream::add_field(std::string_view name, std::string_view value) {
    header_bytes_ += name.size() + value.size() + field_overhead_http2;
    if (header_bytes_ > server_.how.header_max) return header_bytes_;
    request_parts& r = access::parts(request_);
    if (name == ":method") {
        r.method = value;
    } else if (name == ":path") {
        r.target = value;
    } else if (name == ":authority") {
        authority_ = value;
    } else if (name == "cookie") {  // RFC 9113, 8.2.3: a client may send each cookie as a field
        if (!cookies_.empty()) cookies_ += "; ";
        cookies_ += value;
    } else if (!name.starts_with(':')) {
        r.fields.add(name, value);
    }
    return header_bytes_;
}

void http2_stream::end_header() {
    request_parts& r = access::parts(request_);
    if (!cookies_.empty()) r.fields.add("cookie", cookies_);
    if (!authority_.empty()) {
        has_two_authorities_ = r.fields.has("host") && !same_text(r.fields.get("host"), authority_);
        r.fields.set("host", authority_);
    }
    is_head_request_ = r.method == "HEAD";
    uint64_t size = 0;
    const std::string_view said = r.fields.get("content-length");  // nghttp2 has checked it
    std::from_chars(said.data(), said.data() + said.size(), size);
    if (!said.empty() || is_body_ended_) r.content_length = size;
    expects_continue_ = !is_body_ended_ && r.fields.has("expect");
}

void http2_stream::add_trailer_locked(std::string_view name, std::string_view value) {
    trailer_bytes_ += name.size() + value.size() + field_overhead_http2;
    if (trailer_bytes_ <= server_.how.header_max) trailers_.add(name, value);
}

void http2_stream::add_body_locked(std::string_view data) {
    if (is_closed_) return;
    if (body_begin_ > body_.size() - body_begin_) {  // less is moved than was read
        body_.erase(0, body_begin_);
        body_begin_ = 0;
    }
    body_ += data;
    changed_.notify_all();
}

void http2_stream::end_body_locked() noexcept {
    is_body_ended_ = true;
    changed_.notify_all();
}

void http2_stream::lose_body_locked() noexcept {
    is_body_lost_ = true;
    changed_.notify_all();
}

void http2_stream::close_locked() {
    if (is_closed_) return;
    is_closed_ = true;
    if (!is_body_ended_) drop_body_locked();
    changed_.notify_all();  // before the cancellation: a wait for the stream gets its error
    if (!is_end_sent_ && server_.how.cancel_if_client_gone) cancel_locked();
}

// The connection's window gets back what no handler will read.
void http2_stream::drop_body_locked() noexcept {
    const std::size_t unread = body_.size() - body_begin_;
    if (unread != 0) nghttp2_session_consume_connection(session_.native_.get(), unread);
    body_.clear();
    body_begin_ = 0;
}

void http2_stream::cancel_locked() noexcept {
    if (running_ != nullptr) running_->cancel();
}

void http2_stream::cancel_handler() noexcept {
    const std::lock_guard<weft::mutex> held(session_.lock_);
    cancel_locked();
}

upgraded http2_stream::upgrade() { throw failure(status::not_implemented, "this needs HTTP/1.1"); }

// ---- The green thread.

// Why the request is refused before a handler sees it, and the status.
std::optional<std::string> http2_stream::refuse(unsigned& code) {
    code = status::bad_request;
    if (header_bytes_ > server_.how.header_max) {
        code = status::header_fields_too_large;
        return "the header is too large";
    }
    if (has_two_authorities_) return "Host must be the same as :authority";
    const request_parts& r = access::parts(request_);
    if (!r.target.empty() && !r.target.starts_with('/') && r.target != "*") return "the path must begin with a slash";
    std::optional<refusal> no = check_header(r, false);
    if (!no) return std::nullopt;
    code = no->status;
    return std::move(no->why);
}

void http2_stream::call_handler() {
    using weft::detail::never;
    find_route();
    const auto limit = server_.how.handler_time;
    const int64_t deadline = limit.count() == 0 ? never : weft::detail::deadline_after(limit);
    weft::detail::cancel_context running(weft::detail::enclosing_context(), deadline);
    {
        const std::lock_guard<weft::mutex> held(session_.lock_);
        running_ = &running;
        if (server_.is_cut_off() || (is_closed_ && server_.how.cancel_if_client_gone)) running.cancel();
    }
    call_chain(running);
    const std::lock_guard<weft::mutex> held(session_.lock_);
    running_ = nullptr;
    if (is_closed_) is_broken_ = true;
}

void http2_stream::run() {
    const auto leave = [](http2_stream* s) {
        const std::lock_guard<weft::mutex> held(s->session_.lock_);
        s->session_.leave_locked(*s);
    };
    const std::unique_ptr<http2_stream, decltype(leave)> at_end(this, leave);
    respond();
    if (!is_broken_) skip_body();
    {
        const std::lock_guard<weft::mutex> held(session_.lock_);
        if (!is_closed_ && (!is_end_sent_ || !is_body_ended_)) {
            session_.reset_locked(id_, is_end_sent_ ? NGHTTP2_NO_ERROR : NGHTTP2_INTERNAL_ERROR);
        }
    }
    log(session_.peer_, server_.how.access_log ? first_line() : std::string());
}

// Reads on for a moment if the handler did not want all of the body: some clients lose the response
// if RST_STREAM follows it at once.
void http2_stream::skip_body() {
    if (expects_continue_) return;  // the client waits, and has sent nothing
    access::parts(request_).allows_encoded_body = true;
    body_time_left_ = std::min<std::chrono::nanoseconds>(body_time_left_, skip_time);
    body_bytes_in_time_ = 0;
    static_assert(skip_bytes <= bytes_in_time, "there is no more time");
    std::array<char, 4096> unwanted;
    std::error_code ec;
    for (std::size_t all = 0; all < skip_bytes && !ec;) {
        const std::size_t n = read_body(unwanted, ec);
        if (n == 0) return;
        all += n;
    }
}

// Calls the handler, and sends the whole response.
void http2_stream::respond() {
    bool is_gone = false;
    {
        const std::lock_guard<weft::mutex> held(session_.lock_);
        is_gone = is_closed_ && server_.how.cancel_if_client_gone;
    }
    ++server_.counted.requests;
    unsigned code = 0;
    std::error_code ec;
    if (is_gone) {
        is_broken_ = true;
    } else if (const std::optional<std::string> why = refuse(code)) {
        answer(code, *why);
    } else {
        call_handler();
    }
    if (!is_broken_) finish(ec);
    if ((is_broken_ || ec) && !response_.has_begun()) access::parts(response_).status = client_closed_request;
    if (ec) is_broken_ = true;
}

// ---- The body of the request.

std::size_t http2_stream::fail_body(errc why, std::error_code& ec) {
    body_error_ = why;
    ec = body_error_;
    return 0;
}

// A client that waits for "100 Continue" gets it.
void http2_stream::ask_for_body_locked() {
    if (!std::exchange(expects_continue_, false)) return;
    if (is_body_ended_ || is_closed_ || !body_.empty() || response_.has_begun()) return;
    const std::array<nghttp2_nv, 1> go_on{pair_of(":status", "100")};
    throw_if_no_memory(nghttp2_submit_headers(session_.native_.get(), NGHTTP2_FLAG_NONE, id_, nullptr, go_on.data(),
                                              go_on.size(), nullptr));
    session_.wake_writer_locked();
}

// Waits for bytes, the end, or an error. Only the time in which it waits counts.
void http2_stream::wait_for_body(locked& held, std::error_code& ec) {
    const clock::time_point begin = clock::now();
    const clock::time_point until = later(begin, body_time_left_);
    const auto has_changed = [this] {
        return body_.size() != body_begin_ || is_body_ended_ || is_body_lost_ || is_closed_;
    };
    try {
        if (!changed_.wait_until(held, until, has_changed)) fail_body(errc::body_too_slow, ec);
    } catch (const weft::cancelled&) {
        ec = weft::errc::cancelled;
    } catch (const weft::timed_out&) {
        ec = weft::errc::timed_out;
    }
    body_time_left_ -= clock::now() - begin;
}

// Returns 0 if there is nothing.
std::size_t http2_stream::take_body_locked(net::mutable_buffer into) {
    const std::size_t n = std::min(into.size(), body_.size() - body_begin_);
    if (n == 0) return 0;
    std::memcpy(into.data(), body_.data() + body_begin_, n);
    body_begin_ += n;
    if (body_begin_ == body_.size()) {
        body_.clear();
        body_begin_ = 0;
    }
    nghttp2_session_consume(session_.native_.get(), id_, n);
    if (nghttp2_session_want_write(session_.native_.get()) != 0) session_.wake_writer_locked();
    return n;
}

std::size_t http2_stream::read_body(net::mutable_buffer into, std::error_code& ec) {
    ec = body_error_;
    if (ec || into.size() == 0) return 0;
    const request_parts& r = access::parts(request_);
    const bool is_empty = r.content_length == uint64_t{0};  // the end, and trailers, may still come
    if (!is_empty && !r.allows_encoded_body && is_encoded_unexpectedly()) return fail_body(errc::encoded_body, ec);
    if (r.content_length && *r.content_length > body_max_) return fail_body(errc::body_too_large, ec);
    locked held(session_.lock_);
    ask_for_body_locked();
    if (body_.empty() && !is_body_ended_ && !is_closed_) wait_for_body(held, ec);
    if (ec) return 0;
    const std::size_t n = take_body_locked(into);
    body_read_ += n;
    body_bytes_in_time_ += n;
    if (body_bytes_in_time_ >= bytes_in_time) {
        body_bytes_in_time_ = 0;
        body_time_left_ = server_.how.body_time;
    }
    if (body_read_ > body_max_) return fail_body(errc::body_too_large, ec);
    if (n != 0) return n;
    if (!is_body_ended_) return fail_body(errc::incomplete_body, ec);
    if (trailer_bytes_ > server_.how.header_max) return fail_body(errc::bad_body, ec);
    if (!trailers_.empty()) access::parts(request_).trailers = std::exchange(trailers_, {});
    return 0;
}

// ---- The response.

namespace {

std::vector<nghttp2_nv> pairs_of(const headers& fields) {
    std::vector<nghttp2_nv> all;
    all.reserve(fields.size() + 3);
    for (const auto& [name, value] : fields) all.push_back(pair_of(name, trimmed(value)));
    return all;
}

}  // namespace

// nghttp2 would drop them without an error. Then the rest must not be sent.
bool http2_stream::is_too_large(std::span<const nghttp2_nv> fields, std::error_code& ec) {
    constexpr std::size_t overhead = 12;  // as nghttp2 counts: for each field, and once
    std::size_t bytes = overhead;
    for (const nghttp2_nv& f : fields) bytes += f.namelen + f.valuelen + overhead;
    if (bytes <= http2_session::sent_header_max) return false;
    report_size(bytes, http2_session::sent_header_max);
    is_broken_ = true;
    ec = std::make_error_code(std::errc::message_size);
    return true;
}

// Gives the header to nghttp2. size: for Content-Length. has_data: a body or trailers follow.
void http2_stream::begin_response(std::optional<uint64_t> size, bool has_data, std::error_code& ec) {
    response_parts& w = access::parts(response_);
    std::array<char, 24> status_text;
    std::array<char, 24> size_text;
    const auto number = [](std::array<char, 24>& into, uint64_t n) {
        return std::string_view(into.data(), std::to_chars(into.data(), into.data() + into.size(), n).ptr);
    };
    std::vector<nghttp2_nv> all;
    all.reserve(w.fields.size() + 3);
    all.push_back(pair_of(":status", number(status_text, w.status)));
    bool has_date = false;
    for (const auto& [name, value] : w.fields) {
        if (is_of_connection(name)) continue;
        has_date = has_date || same_text(name, "Date");
        all.push_back(pair_of(name, trimmed(value)));
    }
    if (size && status_has_body(w.status)) all.push_back(pair_of("content-length", number(size_text, *size)));
    nghttp2_data_provider body{};
    body.read_callback = offer_body;
    if (is_too_large(all, ec)) {
        w.status = status::internal_server_error;  // in logs: the client gets RST_STREAM
        w.has_begun = true;
        return;
    }
    const std::lock_guard<weft::mutex> held(session_.lock_);
    if (!has_date) all.push_back(pair_of("date", session_.date_.now()));
    throw_if_no_memory(
        nghttp2_submit_response(session_.native_.get(), id_, all.data(), all.size(), has_data ? &body : nullptr));
    w.has_begun = true;
    session_.wake_writer_locked();
}

void http2_stream::begin_response_of_unknown_size(std::error_code& ec) {
    announced_ = announced_size();
    begin_response(announced_, has_body(), ec);
    if (!has_body()) announced_.reset();
}

ssize_t http2_stream::offer_locked(std::size_t most, uint32_t& flags) {
    const std::size_t n = std::min(most, unsent_);
    if (n == 0 && !is_last_) return NGHTTP2_ERR_DEFERRED;
    flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (n != unsent_ || !is_last_) return static_cast<ssize_t>(n);
    flags |= NGHTTP2_DATA_FLAG_EOF;
    const headers& trailers = access::parts(response_).trailers;
    if (trailers.empty()) return static_cast<ssize_t>(n);
    flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    const std::vector<nghttp2_nv> all = pairs_of(trailers);
    const int failed = nghttp2_submit_trailer(session_.native_.get(), id_, all.data(), all.size());
    if (failed != 0) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    return static_cast<ssize_t>(n);
}

bool http2_stream::take_locked(std::size_t size, std::string& to) {
    if (size > unsent_) return false;
    unsent_ -= size;
    written_in_time_ += size;
    while (size != 0) {
        const net::const_buffer& first = pieces_.front();
        const std::size_t n = std::min(size, first.size() - piece_sent_);
        to.append(static_cast<const char*>(first.data()) + piece_sent_, n);
        size -= n;
        piece_sent_ += n;
        if (piece_sent_ != first.size()) continue;
        piece_sent_ = 0;
        pieces_ = pieces_.subspan(1);
    }
    if (written_in_time_ >= bytes_in_time) {
        written_in_time_ = 0;
        write_time_left_ = server_.how.write_time;
        wait_began_ = clock::now();
    }
    if (is_sent()) changed_.notify_all();
    return true;
}

void http2_stream::end_sent_locked() noexcept {
    if (!is_end_sent_) --session_.unfinished_;
    is_end_sent_ = true;
    changed_.notify_all();
}

// Only the time in which it waits counts, for each 256 KiB of the stream.
void http2_stream::wait_until_sent(locked& held, std::error_code& ec) {
    wait_began_ = clock::now();
    try {
        while (!is_sent() && !is_closed_ && !ec) {
            const clock::time_point until = later(wait_began_, write_time_left_);
            const bool is_late = changed_.wait_until(held, until) == std::cv_status::timeout;
            if (is_late && !is_sent() && clock::now() >= later(wait_began_, write_time_left_))
                ec = std::make_error_code(std::errc::timed_out);
        }
    } catch (const weft::cancelled&) {
        ec = weft::errc::cancelled;
    } catch (const weft::timed_out&) {
        ec = weft::errc::timed_out;
    }
    write_time_left_ -= clock::now() - wait_began_;
    if (!ec && !is_sent()) ec = std::make_error_code(std::errc::broken_pipe);
    if (!ec) return;
    is_broken_ = true;
    pieces_ = {};
    unsent_ = 0;
    is_last_ = false;
}

// Sends the pieces, and the end if they are the last ones. Returns when all of it is on its way.
void http2_stream::send(std::span<const net::const_buffer> pieces, bool is_last, std::error_code& ec) {
    locked held(session_.lock_);
    if (is_closed_) {
        ec = std::make_error_code(std::errc::broken_pipe);
        is_broken_ = true;
        return;
    }
    while (!pieces.empty() && pieces.front().size() == 0) pieces = pieces.subspan(1);
    pieces_ = pieces;
    piece_sent_ = 0;
    for (const net::const_buffer& p : pieces) unsent_ += p.size();
    is_last_ = is_last;
    if (is_sent()) return;
    if (has_body()) nghttp2_session_resume_data(session_.native_.get(), id_);
    session_.wake_writer_locked();
    wait_until_sent(held, ec);
}

void http2_stream::send_body(std::span<const net::const_buffer> pieces, std::error_code& ec) {
    ec.clear();
    std::size_t size = 0;
    for (const net::const_buffer& p : pieces) size += p.size();
    const bool is_first = !response_.has_begun();
    if (is_broken_) {
        ec = std::make_error_code(std::errc::broken_pipe);
        return;
    }
    if (is_first && has_body() && size > announced_size().value_or(size)) is_too_long_ = true;
    if (is_too_long_) {  // the client can still get 500
        ec = errc::wrong_length;
        return;
    }
    if (is_first) begin_response_of_unknown_size(ec);
    if (ec) return;
    if (announced_ && sent_ + size > *announced_) {
        ec = errc::wrong_length;
        is_broken_ = true;
        return;
    }
    if (!has_body()) return;
    send(pieces, false, ec);
    if (!ec) sent_ += size;
}

void http2_stream::finish_whole(std::error_code& ec) {
    response_parts& w = access::parts(response_);
    const std::optional<uint64_t> said = announced_size();
    if (said && has_body() && *said != w.unsent.size()) {
        report_length(*said, std::to_string(w.unsent.size()) + " bytes");
        answer(status::internal_server_error, {});
    }
    std::optional<uint64_t> size = w.unsent.size();
    if (is_head_request_ && (said || w.unsent.empty())) size = said;  // the body may just not have been made
    const bool sends = has_body() && !w.unsent.empty();
    begin_response(size, sends, ec);
    if (ec) return;
    const std::array<net::const_buffer, 1> all{net::const_buffer(w.unsent)};
    send(std::span(all).first(sends ? 1 : 0), true, ec);
    if (!ec && sends) sent_ = w.unsent.size();
}

// Sends what is left of the response, and its end.
void http2_stream::finish(std::error_code& ec) {
    if (!send_rest(ec)) return;
    if (announced_ && sent_ != *announced_) {
        report_length(*announced_, std::to_string(sent_) + " bytes");
        is_broken_ = true;
        return;
    }
    if (is_too_large(pairs_of(access::parts(response_).trailers), ec)) return;
    send({}, true, ec);
}

void http2_stream::send_file(fs::file& file, uint64_t offset, uint64_t size, std::error_code& ec) {
    ec.clear();
    if (is_broken_ || is_too_long_) {
        ec = !is_too_long_ ? std::make_error_code(std::errc::broken_pipe) : make_error_code(errc::wrong_length);
        return;
    }
    const auto read = [&](net::mutable_buffer into, uint64_t from) {
        const std::size_t n = file.pread(into, static_cast<int64_t>(offset + from), ec);
        if (!ec && n != into.size()) ec = std::make_error_code(std::errc::io_error);  // it has become shorter
    };
    if (size <= sent_whole && has_body()) {
        std::string& text = access::parts(response_).unsent;
        text.resize(size);
        read({text.data(), text.size()}, 0);
        if (!ec) return;  // it is sent when the handler returns
        text.clear();
        access::parts(response_).fields.erase("Content-Length");
        return;
    }
    begin_response_of_unknown_size(ec);
    if (ec || !has_body()) return;
    std::vector<char> piece(read_at_a_time);
    while (sent_ < size && !ec) {
        const std::size_t n = std::min<uint64_t>(size - sent_, piece.size());
        read({piece.data(), n}, sent_);
        const std::array<net::const_buffer, 1> part{net::const_buffer(piece.data(), n)};
        if (!ec) send(part, false, ec);
        if (!ec) sent_ += n;
    }
    if (ec) is_broken_ = true;
}

}  // namespace weft::http::detail
