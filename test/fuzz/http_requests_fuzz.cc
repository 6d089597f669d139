// http_requests_fuzz.cc: sequences of requests, made of the input's bytes, with known answers.
//
// Each request has a path of names that exist, do not exist, or are forbidden, encoded or not. It
// has conditions and a range; a body, chunked or not; a header and a body of sizes around their
// limits; or a single fault. The requests after one that ends the connection must not be answered.
//
// needs: fuzz_http
// mutant: src/http/parser.cc | > header_max_) | > header_max_ + 1)
// mutant: src/http/connection_read.cc | = parser().keep_alive() | = parser().keep_alive() || r.version == 10
#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/check.h"
#include "fuzz/http/answers.h"
#include "fuzz/http/service.h"

namespace {

using namespace std::string_view_literals;
using fuzz::http::allowed;

constexpr int most_requests = 8;

// The input, one byte at a time, and zeros after its end.
class choices {
public:
    choices(const uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

    [[nodiscard]] bool is_over() const { return at_ == end_; }

    std::size_t below(std::size_t n) { return at_ == end_ ? 0 : *at_++ % n; }

    // Takes 16 bits.
    std::size_t large_below(std::size_t n) {
        const std::size_t high = below(256);
        return (high * 256 + below(256)) % n;
    }

    template <typename Table>
    auto one_of(const Table& table) {
        return table[below(std::size(table))];
    }

private:
    const uint8_t* at_;
    const uint8_t* end_;
};

struct expected_answer {
    unsigned status = 0;
    std::optional<std::string> body;  // if it is known
    bool is_last = false;
};

enum class fault { none, no_host, two_hosts, no_colon, coding, two_lengths, expectation, version, count };

struct wanted {
    std::string method;
    bool is_1_1 = true;
    std::string relative;
    bool is_folder = true;
    bool has_coded_slash = false;
    unsigned path_status = 0;  // if the path is refused
    fault wrong = fault::none;
    std::string range;  // after "bytes="
    std::size_t first = 0;
    std::size_t last = 0;
    bool is_known = false;  // a condition says that the client has this version
    bool is_json = false;
    std::size_t body_size = 0;
    bool is_good_body = false;
    std::size_t header_size = 0;

    [[nodiscard]] bool reads() const { return method == "GET" || method == "HEAD"; }
};

std::string encoded(std::string_view name, std::size_t how) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const auto byte = static_cast<unsigned char>(name[i]);
        const bool has_to = byte <= ' ' || byte > '~' || "%?\\#"sv.find(name[i]) != std::string_view::npos;
        if (has_to || how == 1 || (how == 2 && i == 0)) {
            text += {'%', digits[byte / 16], digits[byte % 16]};
        } else {
            text += name[i];
        }
    }
    return text;
}

// Adds a name to the path.
void add_name(wanted& w, std::string_view name) {
    if (name == ".." || name.find('\0') != std::string_view::npos) w.path_status = 400;  // wherever it is
    if (w.path_status != 0) return;
    w.is_folder = name.empty() || name == ".";
    if (w.is_folder) return;
    if (name.front() == '.' && name != ".well-known") {
        w.path_status = 404;
    } else {
        if (!w.relative.empty()) w.relative += '/';
        w.relative += name;
    }
}

// Whether the server redirects to another spelling of the path.
bool is_unclean(std::string_view target) {
    if (target.starts_with("http")) target.remove_prefix("http://example.com"sv.size());
    for (std::size_t begin = 1; begin <= target.size();) {
        const std::size_t end = std::min(target.find('/', begin), target.size());
        const std::string_view segment = target.substr(begin, end - begin);
        if (segment == "." || segment == "%2e" || (segment.empty() && end != target.size())) return true;
        begin = end + 1;
    }
    return false;
}

std::string make_target(choices& c, wanted& w) {
    constexpr auto names = std::to_array<std::string_view>(
        {"a.txt", "sub",  "index.html", "b c.json", "empty",       "large",     "nowhere",
         "..",    ".",    "",           ".hidden",  ".well-known", "x",         "up",
         "s",     "o",    "absolute",   "circle",   "inside",      "a.txt\0"sv, "api",
         "stats", "echo", "..\\s",      "%2e%2e",   "...",         "api/stats", "api/echo"});
    std::string target = c.below(8) == 7 ? "http://example.com" : "";
    for (std::size_t count = c.below(4); count > 0; --count) {
        const std::string_view name = c.one_of(names);
        target += c.below(8) == 7 ? "%2f" : "/";
        if (target.ends_with("%2f") && target.size() == 3) target = "/%2f";  // the first slash is never encoded
        if (target.ends_with(".com%2f")) target.replace(target.size() - 3, 3, "/");
        if (const std::size_t slash = name.find('/'); slash != std::string_view::npos) {
            add_name(w, name.substr(0, slash));
            add_name(w, name.substr(slash + 1));
            target += name;
        } else {
            add_name(w, name);
            target += encoded(name, c.below(3));
        }
    }
    if (c.below(3) == 2 || target.empty() || target.ends_with(".com")) {
        target += '/';
        if (w.path_status == 0) w.is_folder = true;
    }
    w.has_coded_slash = target.find("%2f") != std::string::npos;
    if (is_unclean(target) && w.path_status != 400) w.path_status = 308;
    return target + (c.below(4) == 3 ? "?x=../%zz" : "");
}

std::string make_range(choices& c, wanted& w) {
    w.first = c.below(24);
    w.last = c.below(24);
    switch (c.below(4)) {
        case 0:
            w.range = std::to_string(w.first) + '-' + std::to_string(w.last);
            break;
        case 1:
            w.range = std::to_string(w.first) + '-';
            break;
        case 2:
            w.range = '-' + std::to_string(w.last);
            break;
        default:
            return "";
    }
    return "Range: bytes=" + w.range + "\r\n";
}

std::string make_conditions(choices& c, wanted& w) {
    const std::size_t which = c.below(8);
    w.is_known = which == 1 || which == 2;
    constexpr std::string_view conditions[] = {
        "If-None-Match: *\r\n", "If-Modified-Since: Sat, 06 Nov 2094 08:49:37 GMT\r\n",
        "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "If-None-Match: \"x\"\r\n"};
    return which == 0 || which > std::size(conditions) ? std::string() : std::string(conditions[which - 1]);
}

std::string in_chunks(choices& c, std::string_view body) {
    std::string text;
    while (!body.empty()) {
        const std::size_t size = std::min(body.size(), 1 + c.large_below(1200));
        char head[32];
        std::snprintf(head, sizeof(head), c.below(2) == 1 ? "%zX;a=b\r\n" : "%zx\r\n", size);
        ((text += head) += body.substr(0, size)) += "\r\n";
        body.remove_prefix(size);
    }
    return text + (c.below(2) == 1 ? "0\r\nT: x\r\n\r\n" : "0\r\n\r\n");
}

std::string make_fault(fault wrong) {
    switch (wrong) {
        case fault::two_hosts:
            return "Host: b\r\n";
        case fault::no_colon:
            return "Host b\r\n";
        case fault::coding:
            return "Transfer-Encoding: gzip\r\n";
        case fault::two_lengths:
            return "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n";
        case fault::expectation:
            return "Expect: miracles\r\n";
        default:
            return "";
    }
}

unsigned status_of(fault wrong) {
    switch (wrong) {
        case fault::coding:
            return 501;
        case fault::expectation:
            return 417;
        case fault::version:
            return 505;
        default:
            return 400;
    }
}

expected_answer answer_with_file(const wanted& w) {
    const std::string name = w.relative + (!w.is_folder ? "" : w.relative.empty() ? "index.html" : "/index.html");
    const std::string* const file = fuzz::http::file_at(name);
    if (file == nullptr && !w.is_folder && fuzz::http::is_folder(name)) return {301, {}};
    if (file == nullptr) return {404, {}};
    if (w.is_known) return {304, ""};
    if (w.method == "HEAD" || w.range.empty()) return {200, *file};
    const std::size_t size = file->size();
    if (w.range.front() == '-') {
        const std::size_t count = std::min(w.last, size);
        return count == 0 ? expected_answer{416, {}} : expected_answer{206, file->substr(size - count)};
    }
    const bool is_open = w.range.back() == '-';
    if (!is_open && w.last < w.first) return {200, *file};
    if (w.first >= size) return {416, {}};
    return {206, is_open ? file->substr(w.first) : file->substr(w.first, w.last - w.first + 1)};
}

expected_answer granted(const wanted& w) {
    if (w.path_status != 0) return {w.path_status, {}};
    const bool is_exact = !w.is_folder && !w.has_coded_slash;  // the router sees the same segments
    if (is_exact && w.relative == "api/stats") return {w.reads() ? 200U : 405U, {}};
    if (is_exact && w.relative == "api/echo") {
        if (w.method != "POST") return {405, {}};
        if (!w.is_json) return {415, {}};
        if (!w.is_good_body) return {400, {}};
        return {200, "{\"bytes\":" + std::to_string(w.body_size) + ",\"json\":1}\n"};
    }
    return w.reads() ? answer_with_file(w) : expected_answer{405, {}};
}

expected_answer expected(const wanted& w, bool is_kept) {
    if (w.header_size > allowed.header_bytes) return {431, {}, true};
    if (w.wrong != fault::none) return {status_of(w.wrong), {}, true};
    if (w.body_size > allowed.body_bytes) return {413, {}, true};
    expected_answer e = granted(w);
    e.is_last = !is_kept;
    return e;
}

// Appends a request to text.
expected_answer make_request(choices& c, std::string& text) {
    constexpr std::string_view methods[] = {"GET", "GET", "HEAD", "POST", "PUT", "BREW"};
    wanted w;
    w.method = c.one_of(methods);
    w.is_1_1 = c.below(6) != 5;
    const std::string target = make_target(c, w);
    // At most one fault, so that the answer to it is known.
    if (c.below(6) == 5 && w.is_1_1) w.wrong = static_cast<fault>(c.below(static_cast<std::size_t>(fault::count)));

    std::string header = w.method + ' ' + target +
                         (w.wrong == fault::version ? " HTTP/2.0"
                          : w.is_1_1                ? " HTTP/1.1"
                                                    : " HTTP/1.0") +
                         "\r\n";
    if (w.wrong != fault::no_host) header += "Host: a\r\n";
    (header += make_range(c, w)) += make_conditions(c, w);
    w.is_json = c.below(3) != 0;
    if (w.is_json)
        header += c.below(2) == 0 ? "Content-Type: application/json\r\n"
                                  : "Content-Type: application/JSON; charset=utf-8\r\n";
    const bool wants_close = c.below(8) == 7;
    if (wants_close) header += "Connection: close\r\n";
    const bool wants_more = !w.is_1_1 && c.below(2) == 1 && !wants_close;
    if (wants_more) header += "Connection: keep-alive\r\n";
    header += make_fault(w.wrong);

    std::string body;
    if (w.wrong == fault::none && c.below(2) == 1) {
        w.body_size = c.below(4) == 3 ? allowed.body_bytes - 2 + c.below(5) : c.below(64);
        w.is_good_body = w.body_size != 0 && c.below(4) != 3;
        body = std::string(w.body_size, ' ');
        if (w.is_good_body) body.back() = '1';
        if (w.is_1_1 && c.below(4) == 3) header += "Expect: 100-continue\r\n";
        if (w.is_1_1 && c.below(2) == 1) {
            header += "Transfer-Encoding: chunked\r\n";
            body = in_chunks(c, body);
        } else {
            header += "Content-Length: " + std::to_string(w.body_size) + "\r\n";
        }
    }
    constexpr std::size_t around_filler = "X: \r\n\r\n"sv.size();
    const bool is_all_right = w.wrong == fault::none && w.body_size <= allowed.body_bytes;
    if (is_all_right && c.below(4) == 3 && header.size() + around_filler < allowed.header_bytes) {
        const std::size_t least = header.size() + around_filler;
        const std::size_t size = c.below(2) == 1 ? allowed.header_bytes - 2 + c.below(5) : least + c.large_below(800);
        header += "X: " + std::string(std::max(size, least) - least, 'x') + "\r\n";
    }
    header += "\r\n";
    w.header_size = header.size();
    if (c.below(8) == 7) text += "\r\n";
    (text += header) += body;
    return expected(w, w.is_1_1 ? !wants_close : wants_more);
}

void compare(const std::vector<fuzz::http::answer>& answers,
             const std::vector<expected_answer>& wanted,
             std::string_view text) {
    for (std::size_t i = 0; i < std::min(answers.size(), wanted.size()); ++i) {
        const std::string about = "request " + std::to_string(i) + ": " + std::to_string(answers[i].status) +
                                  " and not " + std::to_string(wanted[i].status) + " for " + std::string(text);
        fuzz::check(answers[i].status == wanted[i].status, "the answer has the status that it should", about);
        fuzz::check(answers[i].is_last == wanted[i].is_last, "the connection is kept if it should be", about);
        if (!wanted[i].body || answers[i].body.empty()) continue;  // of a HEAD; answers.cc checks it
        fuzz::check(answers[i].body == *wanted[i].body, "the answer is what was asked for", about);
    }
    fuzz::check(answers.size() == wanted.size(), "all requests are answered up to the last", text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    choices c(data, size);
    const std::size_t cut_at = c.large_below(4096);  // 0 or beyond the end: in one piece
    std::string text;
    std::vector<expected_answer> wanted;
    bool is_over = false;
    for (int i = 0; i < most_requests && (i == 0 || !c.is_over()); ++i) {
        const expected_answer e = make_request(c, text);
        if (!is_over) wanted.push_back(e);
        is_over = is_over || e.is_last;
    }
    const std::string_view all = text;
    std::vector<std::string_view> pieces{all.substr(0, cut_at)};
    if (cut_at != 0 && cut_at < all.size()) pieces.push_back(all.substr(cut_at));
    if (cut_at == 0) pieces = {all};
    compare(fuzz::http::checked_answers(fuzz::http::talk_with_server(pieces), text), wanted, text);
    return 0;
}
