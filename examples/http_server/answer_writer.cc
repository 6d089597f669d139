#include "answer_writer.h"

#include <algorithm>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>
#include <ctime>
#include <string>
#include <system_error>

#include "http_date.h"

namespace http_server {

namespace {

using boost::system::error_code;

constexpr uint64_t sent_with_header = uint64_t{32} * 1024;  // shorter files are copied, which saves a system call
constexpr uint64_t sent_at_a_time = uint64_t{256} * 1024;   // options.h, write_time

bool has_no_body(http::status status) { return status == http::status::not_modified; }

void complete(answer& a, const answer_form& form) {
    http::response<http::string_body>& m = a.message;
    m.version(form.version);
    m.set(http::field::server, "weft");
    m.set(http::field::date, http_date(std::time(nullptr)));
    m.set("X-Content-Type-Options", "nosniff");
    m.keep_alive(form.keep_alive);
    if (!has_no_body(m.result())) m.content_length(a.body_size());
}

// Reads the part of the file into the body. Returns false if the file has become shorter, or on an
// error.
bool load(answer& a) {
    std::string& text = a.message.body();
    text.resize(a.size);
    std::error_code ec;
    const std::size_t n = a.file.pread(text, static_cast<int64_t>(a.offset), ec);
    a.file.close();
    return !ec && n == text.size();
}

bool send_file(transport& to, answer& a, const limits& allowed, uint64_t& sent) {
    while (sent < a.size) {
        to.set_write_time(allowed.write_time);
        std::error_code ec;
        const uint64_t wanted = std::min(a.size - sent, sent_at_a_time);
        const std::size_t n = to.send_file(a.file, a.offset + sent, wanted, ec);
        sent += n;
        if (ec || n < wanted) return false;
    }
    return true;
}

}  // namespace

bool send_answer(
    weft::asio::stream<transport>& to, answer& a, const answer_form& form, const limits& allowed, uint64_t& sent) {
    sent = 0;
    complete(a, form);
    if (a.file.is_open() && !form.header_only && a.size <= sent_with_header && !load(a)) return false;

    error_code ec;
    to.next_layer().set_write_time(allowed.write_time);
    http::response_serializer<http::string_body> serializer(a.message);
    if (form.header_only || a.file.is_open() || has_no_body(a.message.result())) {
        http::write_header(to, serializer, ec);
        if (ec || !a.file.is_open() || form.header_only) return !ec;
        return send_file(to.next_layer(), a, allowed, sent);
    }
    http::write(to, serializer, ec);
    if (!ec) sent = a.message.body().size();
    return !ec;
}

}  // namespace http_server
