// multipart.h: reads forms with files (multipart/form-data, RFC 7578), part by part, without
// keeping them in memory.
//
//     http::multipart form(r);
//     while (form.next()) {
//         if (form.filename().empty()) fields[form.name()] = form.text();
//         else while (const std::size_t n = form.read_some(buffer)) file.write_all(…);
//     }
//
// The whole body is limited by server_options::body_max, and request::set_body_max().
//
// Threads: those of the request, one at a time.
// See:     docs/http_forms.md
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <weft/detail/require.h>
#include <weft/http/headers.h>
#include <weft/http/request.h>
#include <weft/net/buffer.h>

namespace weft::http {

struct multipart_options {
    std::size_t parts_max = 1000;        ///< else 413
    std::size_t header_max = 8 * 1024;   ///< bytes of a part's header; else 400
    std::size_t text_max = 1024 * 1024;  ///< bytes that text() returns; else 413
};

class multipart {
public:
    /// The request must outlive it, and its body be unread. Throws failure: 415 if the request's
    /// Content-Type is not multipart/form-data with a boundary.
    explicit multipart(request& r, multipart_options how = {});
    ~multipart();

    multipart(const multipart&) = delete;
    multipart& operator=(const multipart&) = delete;

    /// Goes to the next part, and skips what was not read of the current one. Returns false after
    /// the last one. Throws failure (400, 413), and as request::read_some().
    [[nodiscard]] bool next();

    /// The name of the form's field.
    [[nodiscard]] const std::string& name() const noexcept;

    /// The name of the file on the client's side, without directories; empty if the part is no
    /// file. It may be any text: do not make a path of it.
    [[nodiscard]] const std::string& filename() const noexcept;

    /// The fields of the part's header, like Content-Type. Valid until next().
    [[nodiscard]] const http::headers& headers() const noexcept;

    /// Reads some of the part, 1 to b.size() bytes. Returns 0 at its end. Throws as next().
    [[nodiscard]] std::size_t read_some(net::mutable_buffer b);

    /// The rest of the part. Throws as next().
    [[nodiscard]] std::string text();

private:
    class state;

    std::unique_ptr<state> state_;
};

}  // namespace weft::http
