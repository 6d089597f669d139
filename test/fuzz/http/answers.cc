// answers.cc: see answers.h.
#include "fuzz/http/answers.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <set>

#include "fuzz/check.h"

namespace fuzz::http {

namespace {

constexpr std::string_view interim = "HTTP/1.1 100 Continue\r\n\r\n";

// The server's help lists its limits, docs/examples.md the rest. Left out are the answers to
// slowness (408), overload (503) and missing rights (403).
const std::set<unsigned> statuses{200, 206, 301, 304, 308, 400, 404, 405, 412, 413, 415, 416, 417, 431, 501, 505};

std::string_view take_line(std::string_view& text, std::string_view about) {
    const std::size_t end = text.find("\r\n");
    check(end != std::string_view::npos, "a line of an answer's header has an end", about);
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 2);
    check(std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c <= '~'; }),
          "an answer's header is printable", line);
    return line;
}

std::size_t number(std::string_view digits, std::string_view about) {
    check(!digits.empty() && digits.size() < 10 && digits.find_first_not_of("0123456789") == std::string_view::npos,
          "a size is a number", about);
    return std::stoul(std::string(digits));
}

bool is_token(std::string_view name) {
    return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-';
    });
}

void take_fields(std::string_view& text, answer& a, std::string_view about) {
    for (std::string_view line = take_line(text, about); !line.empty(); line = take_line(text, about)) {
        const std::size_t colon = line.find(": ");
        check(colon != std::string_view::npos && is_token(line.substr(0, colon)), "a field of an answer has a name",
              line);
        std::string name(line.substr(0, colon));
        std::transform(name.begin(), name.end(), name.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        check(a.fields.emplace(std::move(name), line.substr(colon + 2)).second, "no field of an answer is there twice",
              line);
    }
}

// "bytes 2-5/10"
void check_part(const answer& a, std::string_view about) {
    std::size_t first = 0;
    std::size_t last = 0;
    std::size_t size = 0;
    const std::string range(a.field("content-range"));
    check(std::sscanf(range.c_str(), "bytes %zu-%zu/%zu", &first, &last, &size) == 3, "a part says which one it is",
          about);
    check(first <= last && last < size && last - first + 1 == a.body.size(), "a part has the size that it says", about);
    for (const char* name : {"a.txt", "index.html", "sub/index.html", "sub/b c.json", ".well-known/x", "large"}) {
        const std::string& file = *file_at(name);
        if (file.size() == size && std::string_view(file).substr(first, a.body.size()) == a.body) return;
    }
    check(false, "a part is one of a file", about);
}

void check_content(const answer& a, bool without_body, std::string_view about) {
    const std::string_view type = a.field("content-type");
    check(a.status == 304 || !type.empty(), "an answer says what it consists of", about);
    if (a.status == 301) {
        const std::string_view target = a.field("location");
        const std::string_view to = target.substr(0, target.find('?'));
        check(to.starts_with('/') && !to.starts_with("//") && to.ends_with('/'), "a redirection leads to a folder here",
              about);
    }
    if (a.status == 405) check(!a.field("allow").empty(), "who may not do that is told what he may", about);
    if (a.status == 416)
        check(a.field("content-range").starts_with("bytes */"), "what is no part is said with the size", about);
    if (without_body) return;
    if (a.status == 206) check_part(a, about);
    if (a.status == 200 && file_with(a.body) == nullptr) {
        check(type == "application/json" && a.field("cache-control") == "no-store", "what is no file is computed",
              about);
        std::size_t bytes = 0;
        if (std::sscanf(std::string(a.body).c_str(), "{\"bytes\":%zu", &bytes) == 1)
            check(bytes <= allowed.body_bytes, "a body that is taken is within its limit", about);
    }
    if (a.status >= 400 && type.starts_with("text/plain"))
        check(a.body.starts_with(std::to_string(a.status) + ' ') && a.body.ends_with('\n'),
              "a refusal says why, in a line", about);
}

answer take_answer(std::string_view& text, const log_line& logged, std::string_view about) {
    answer a;
    const std::string_view first = take_line(text, about);
    const bool is_1_1 = first.starts_with("HTTP/1.1 ");
    check(is_1_1 || first.starts_with("HTTP/1.0 "), "an answer begins with its version", first);
    check(first.size() > 13 && first[12] == ' ', "an answer's first line has a reason", first);
    a.status = static_cast<unsigned>(number(first.substr(9, 3), first));
    check(statuses.count(a.status) == 1, "a status is one of those that are documented", first);
    take_fields(text, a, about);

    const bool without_body = logged.request.starts_with("HEAD ") || a.status == 304;
    const std::string_view length = a.field("content-length");
    check(length.empty() == (a.status == 304), "an answer says how long it is, but for 304", about);
    check(a.field("transfer-encoding").empty(), "an answer is not chunked", about);
    const std::size_t size = without_body ? 0 : number(length, about);
    check(size <= text.size(), "an answer is complete", about);
    a.body = text.substr(0, size);
    text.remove_prefix(size);

    check(a.status == logged.status && size == logged.body_bytes, "the log says what was answered", about);
    check(a.field("date").size() == 29 && a.field("x-content-type-options") == "nosniff",
          "an answer has the fields that all have", about);
    a.is_last = is_1_1 ? a.field("connection") == "close" : a.field("connection") != "keep-alive";
    check_content(a, without_body, about);
    return a;
}

}  // namespace

std::string_view answer::field(std::string_view name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string_view() : std::string_view(found->second);
}

std::vector<answer> checked_answers(const talk& t, std::string_view about) {
    check(t.answers.find(secret) == std::string::npos, "nobody gets what is hidden or lies outside", about);
    std::string_view text = t.answers;
    std::vector<answer> all;
    for (const log_line& logged : t.log) {
        check(all.empty() || !all.back().is_last, "what says that it is the last answer is", about);
        if (text.starts_with(interim)) text.remove_prefix(interim.size());
        all.push_back(take_answer(text, logged, about));
    }
    if (text == interim) text = {};  // and the body never came
    check(text.empty(), "every answer is in the log", about);
    return all;
}

}  // namespace fuzz::http
