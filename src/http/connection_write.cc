// connection_write.cc: the responses of a connection. See connection.h.
#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "http/connection.h"
#include "http/later.h"
#include "http/text.h"

namespace weft::http::detail {

namespace {

constexpr uint64_t sent_with_header = uint64_t{32} * 1024;  // shorter files are copied: a system call less
constexpr std::size_t copied_at_a_time = std::size_t{64} * 1024;
constexpr std::size_t pieces_max = 8;

void append_number(std::string& to, uint64_t n, int base) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), n, base).ptr;
    to.append(digits.data(), end);
}

void append_field(std::string& to, std::string_view name, std::string_view value) {
    (((to += name) += ": ") += value) += "\r\n";
}

}  // namespace

// Writes the header to out_. size: for Content-Length.
void connection::begin_head(body_form form, std::optional<uint64_t> size) {
    response_parts& w = access::parts(response_);
    w.has_begun = true;
    form_ = form;
    if (form == body_form::to_the_end || server_.is_ending() || w.fields.has_token("Connection", "close")) {
        keep_alive_ = false;
    }
    if (!parser().is_done() && expects_continue_ && in_.empty()) keep_alive_ = false;
    out_ = "HTTP/1.1 ";
    append_number(out_, w.status, 10);
    ((out_ += ' ') += reason_of(w.status)) += "\r\n";
    bool has_date = false;
    for (const auto& [name, value] : w.fields) {
        if (same_text(name, "Connection") || same_text(name, "Content-Length")) continue;
        has_date = has_date || same_text(name, "Date");
        append_field(out_, name, value);
    }
    if (!has_date) append_field(out_, "Date", date_.now());
    const bool offers_upgrade = w.fields.has("Upgrade");  // RFC 9110, 7.8
    if (!keep_alive_) {
        out_ += offers_upgrade ? "Connection: close, Upgrade\r\n" : "Connection: close\r\n";
    } else if (request_.version() < 11) {
        out_ += "Connection: keep-alive\r\n";
    } else if (offers_upgrade) {
        out_ += "Connection: Upgrade\r\n";
    }
    if (form == body_form::chunked) {
        out_ += "Transfer-Encoding: chunked\r\n";
    } else if (size && status_has_body(w.status)) {
        out_ += "Content-Length: ";
        append_number(out_, *size, 10);
        out_ += "\r\n";
    }
    out_ += "\r\n";
}

// Of a response whose size is not known yet.
void connection::choose_form() {
    announced_ = announced_size();
    if (!status_has_body(response_.status())) {
        begin_head(body_form::counted, std::nullopt);
        announced_.reset();
    } else if (announced_) {
        begin_head(body_form::counted, announced_);
    } else {
        begin_head(request_.version() >= 11 ? body_form::chunked : body_form::to_the_end, std::nullopt);
    }
}

// Each 256 KiB of a response have a time of their own, in however many pieces they are written.
void connection::count_written(clock::time_point begin, std::size_t bytes) {
    write_time_left_ -= clock::now() - begin;
    written_in_time_ += bytes;
    if (written_in_time_ < bytes_in_time) return;
    written_in_time_ = 0;
    write_time_left_ = server_.how.write_time;
}

// Writes all pieces. Only the time in which it waits counts.
void connection::write_out(std::span<const net::const_buffer> pieces, std::error_code& ec) {
    std::vector<net::const_buffer> batch;
    batch.reserve(pieces_max);
    std::size_t bytes = 0;
    const auto flush = [&] {
        const clock::time_point begin = clock::now();
        client_->set_write_deadline(later(begin, write_time_left_));
        client_->writev_all(batch, ec);
        count_written(begin, bytes);
        batch.clear();
        bytes = 0;
    };
    for (const net::const_buffer& piece : pieces) {
        const auto* data = static_cast<const char*>(piece.data());
        for (std::size_t left = piece.size(); left != 0 && !ec;) {
            const std::size_t n = std::min(left, bytes_in_time - written_in_time_ - bytes);
            batch.emplace_back(data, n);
            data += n;
            left -= n;
            bytes += n;
            if (written_in_time_ + bytes == bytes_in_time || batch.size() == pieces_max) flush();
        }
    }
    if (!batch.empty() && !ec) flush();
    if (ec) is_broken_ = true;
}

void connection::send_body(std::span<const net::const_buffer> pieces, std::error_code& ec) {
    ec.clear();
    uint64_t size = 0;
    for (const net::const_buffer& p : pieces) size += p.size();
    const bool is_first = !response_.has_begun();
    if (is_broken_ || is_upgraded_) {
        ec = std::make_error_code(std::errc::broken_pipe);
        return;
    }
    if (is_first && has_body() && size > announced_size().value_or(size)) is_too_long_ = true;
    if (is_too_long_) {  // the client can still get 500
        ec = errc::wrong_length;
        return;
    }
    if (is_first) choose_form();
    if (announced_ && has_body() && sent_ + size > *announced_) {
        ec = errc::wrong_length;
        is_broken_ = true;
        return;
    }
    if (!is_first) out_.clear();
    const bool sends = has_body() && size != 0;
    if (sends && form_ == body_form::chunked) {
        append_number(out_, size, 16);
        out_ += "\r\n";
    }
    std::array<net::const_buffer, 4> all{net::const_buffer(out_), {nullptr, 0}, {nullptr, 0}, {nullptr, 0}};
    std::size_t count = 1;
    for (std::size_t i = 0; sends && i < pieces.size(); ++i) all[count++] = pieces[i];
    if (sends && form_ == body_form::chunked) all[count++] = net::const_buffer("\r\n");
    write_out(std::span(all).first(count), ec);
    if (!ec && sends) sent_ += size;
}

void connection::finish_whole(std::error_code& ec) {
    response_parts& w = access::parts(response_);
    const std::optional<uint64_t> said = announced_size();
    if (said && has_body() && *said != w.unsent.size()) {
        report_length(*said, std::to_string(w.unsent.size()) + " bytes");
        answer(status::internal_server_error, {});
    }
    std::optional<uint64_t> size = w.unsent.size();
    if (is_head_request_ && (said || w.unsent.empty())) size = said;  // the body may just not have been made
    begin_head(body_form::whole, size);
    const bool sends = has_body();
    const std::array<net::const_buffer, 2> all{net::const_buffer(out_), net::const_buffer(w.unsent)};
    write_out(std::span(all).first(sends ? 2 : 1), ec);
    if (!ec && sends) sent_ = w.unsent.size();
}

// Sends what is left of the response, and its end.
void connection::finish(std::error_code& ec) {
    if (!send_rest(ec)) return;
    if (!has_body()) return;
    if (form_ == body_form::chunked) {
        out_ = "0\r\n";
        for (const auto& [name, value] : access::parts(response_).trailers) append_field(out_, name, value);
        out_ += "\r\n";
        const std::array<net::const_buffer, 1> last{net::const_buffer(out_)};
        write_out(last, ec);
    } else if (announced_ && sent_ != *announced_) {
        report_length(*announced_, std::to_string(sent_) + " bytes");
        is_broken_ = true;
    }
}

void connection::send_file(fs::file& file, uint64_t offset, uint64_t size, std::error_code& ec) {
    ec.clear();
    if (is_broken_ || is_upgraded_ || is_too_long_) {
        ec = !is_too_long_ ? std::make_error_code(std::errc::broken_pipe) : make_error_code(errc::wrong_length);
        return;
    }
    if (size <= sent_with_header && has_body()) {
        std::string& text = access::parts(response_).unsent;
        text.resize(size);
        const std::size_t n = file.pread(text, static_cast<int64_t>(offset), ec);
        if (!ec && n != size) ec = std::make_error_code(std::errc::io_error);
        if (ec) {
            text.clear();
            access::parts(response_).fields.erase("Content-Length");
        }
        return;  // it is sent when the handler returns
    }
    choose_form();
    const std::array<net::const_buffer, 1> head{net::const_buffer(out_)};
    write_out(head, ec);
    if (!ec && has_body()) send_file_piecewise(file, offset, size, ec);
    if (ec) is_broken_ = true;
}

void connection::send_file_piecewise(fs::file& file, uint64_t offset, uint64_t size, std::error_code& ec) {
    std::vector<char> piece(client_->sends_files() ? 0 : copied_at_a_time);
    while (sent_ < size && !ec) {
        std::size_t n = 0;
        if (client_->sends_files()) {
            const clock::time_point begin = clock::now();
            client_->set_write_deadline(later(begin, write_time_left_));
            n = client_->send_file(file.native_handle(), offset + sent_,
                                   std::min<uint64_t>(size - sent_, bytes_in_time - written_in_time_), ec);
            count_written(begin, n);
        } else {
            const net::mutable_buffer part(piece.data(), std::min<uint64_t>(size - sent_, piece.size()));
            n = file.pread(part, static_cast<int64_t>(offset + sent_), ec);
            const std::array<net::const_buffer, 1> read{net::const_buffer(piece.data(), n)};
            if (!ec && n != 0) write_out(read, ec);
        }
        sent_ += n;
        if (n == 0 && !ec) ec = std::make_error_code(std::errc::io_error);  // the file has become shorter
    }
}

}  // namespace weft::http::detail
