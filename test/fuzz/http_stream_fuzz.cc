// http_stream_fuzz.cc: arbitrary bytes, sent to the HTTP server: pipelined requests, in pieces or
// not.
//
// The first byte determines how the rest is cut into pieces. Every other mutation is of a kind that
// knows the parts of requests.
//
// needs: fuzz_http
// mutant: src/http/beneath_linux.cc | RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS
// mutant: src/http/file_path.cc | segment.front() == '.' && | false &&
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/check.h"
#include "fuzz/http/answers.h"
#include "fuzz/http/service.h"

extern "C" std::size_t LLVMFuzzerMutate(uint8_t* data, std::size_t size, std::size_t most);

namespace {

constexpr std::size_t most_pieces = 24;

// Size 0 gives one piece. Otherwise pieces have this size, up to a limit of pieces, and the last
// one has the rest.
std::vector<std::string_view> cut(std::string_view text, std::size_t size) {
    std::vector<std::string_view> pieces;
    while (size != 0 && text.size() > size && pieces.size() < most_pieces) {
        pieces.push_back(text.substr(0, size));
        text.remove_prefix(size);
    }
    pieces.push_back(text);
    return pieces;
}

constexpr auto words = std::to_array<std::string_view>({
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /a.txt HTTP/1.1\r\nHost: a\r\nRange: bytes=2-5\r\n\r\n",
    "HEAD /large HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /sub HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "POST /api/echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]",
    "POST /api/echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: "
    "chunked\r\n\r\n2;x=y\r\n[]\r\n0\r\n\r\n",
    "Host: a\r\n",
    "Host: b\r\n",
    "Range: bytes=0-0\r\n",
    "Range: bytes=-3\r\n",
    "Range: bytes=9-\r\n",
    "Range: bytes=99-\r\n",
    "If-Range: \"x\"\r\n",
    "If-None-Match: *\r\n",
    "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
    "If-Modified-Since: Sat, 06 Nov 2094 08:49:37 GMT\r\n",
    "Connection: close\r\n",
    "Connection: keep-alive\r\n",
    "Content-Length: 5\r\n",
    "Content-Length: 1024\r\n",
    "Content-Length: 1025\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: gzip\r\n",
    "Expect: 100-continue\r\n",
    "Expect: x\r\n",
    "Content-Type: application/json\r\n",
    "\r\n",
    "\r\n\r\n",
    "GET ",
    "HEAD ",
    "POST ",
    "PUT ",
    " HTTP/1.1\r\n",
    " HTTP/1.0\r\n",
    " HTTP/2.0\r\n",
    "http://example.com",
    "%2e",
    "%2f",
    "%00",
    "%5c",
    "?",
    "0\r\n\r\n",
    "1\r\n1\r\n",
    "400\r\n",
    "ffffffffffffffff\r\n",
    "X: ",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
});

constexpr auto targets = std::to_array<std::string_view>({
    "/",
    "/a.txt",
    "/sub",
    "/sub/",
    "/sub/empty/",
    "/sub/b%20c.json",
    "/large",
    "/empty",
    "/inside",
    "/circle",
    "/up",
    "/up/s",
    "/o",
    "/absolute",
    "/.hidden",
    "/.well-known/x",
    "/sub/.hidden",
    "/../s",
    "/sub/../../s",
    "/%2e%2e/s",
    "/..%2fs",
    "/%252e%252e/s",
    "/..%5cs",
    "/a.txt%00",
    "//etc/passwd",
    "/proc/self/environ",
    "http://example.com/a.txt",
    "/a.txt?x=../y",
    "/api/stats",
    "/api/echo",
    "*",
});

// The end of a line, or any place.
std::size_t place_in(std::string_view text, unsigned chance) {
    const std::size_t line = text.find("\r\n", chance % (text.size() + 1));
    return chance % 2 == 0 || line == std::string_view::npos ? chance % (text.size() + 1) : line + 2;
}

// Changes the target of the next request.
std::string with_target(const std::string& text, std::size_t at, std::string_view target) {
    const std::size_t end = text.find(" HTTP/", at);
    const std::size_t begin = end == 0 || end == std::string::npos ? std::string::npos : text.rfind(' ', end - 1);
    if (begin == std::string::npos) return text;
    return text.substr(0, begin + 1) + std::string(target) + text.substr(end);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
    if (seed % 2 == 0 || size == 0) return LLVMFuzzerMutate(data, size, most);
    const unsigned chance = seed / 2;
    const std::string text(fuzz::text_of(data + 1, size - 1));
    const std::size_t at = place_in(text, chance / 64);
    std::string changed = text.substr(0, at);
    switch (chance % 6) {
        case 0:  // one line removed
            changed += text.substr(std::min(text.size(), text.find("\r\n", at)));
            break;
        case 1:  // a piece duplicated
            changed += text.substr(at / 2);
            break;
        case 2:
        case 3:
            changed = with_target(text, at, targets[(chance / 8) % targets.size()]);
            break;
        default:
            (changed += words[(chance / 8) % words.size()]) += text.substr(at);
    }
    changed.resize(std::min(changed.size(), most - 1));
    std::memcpy(data + 1, changed.data(), changed.size());
    return 1 + changed.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view text = fuzz::text_of(data + 1, size - 1);
    const auto pieces = cut(text, data[0]);
    static_cast<void>(fuzz::http::checked_answers(fuzz::http::talk_with_server(pieces), text));
    return 0;
}
