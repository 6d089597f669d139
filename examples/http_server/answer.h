// answer.h: an answer to a client: a header, and a text or part of a file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <weft/fs.h>

#include "http.h"

namespace http_server {

struct answer {
    http::response<http::string_body> message;  // the body is the text

    // If file is open, its bytes [offset, offset + size) follow the header instead of the text.
    weft::fs::file file;
    uint64_t offset = 0;
    uint64_t size = 0;

    [[nodiscard]] uint64_t body_size() const { return file.is_open() ? size : message.body().size(); }

    void set(http::field name, std::string_view value) { message.set(name, {value.data(), value.size()}); }
};

[[nodiscard]] inline answer answer_with_text(http::status status, std::string_view type, std::string text) {
    answer a;
    a.message.result(status);
    a.set(http::field::content_type, type);
    a.message.body() = std::move(text);
    return a;
}

// An answer with a short text, for refusals and redirections: "404 Not Found: there is no such
// file".
[[nodiscard]] inline answer answer_with_reason(http::status status, std::string_view why) {
    const auto name = http::obsolete_reason(status);
    std::string text = std::to_string(static_cast<unsigned>(status)) + ' ' + std::string(name.data(), name.size());
    if (!why.empty()) (text += ": ") += why;
    return answer_with_text(status, "text/plain; charset=utf-8", text + '\n');
}

}  // namespace http_server
