// http2_stream_fuzz.cc: arbitrary bytes after the preface of HTTP/2, sent to the HTTP server, in
// pieces or not.
//
// The first byte determines how the rest is cut into pieces. Most mutations know what a frame is.
// Checks of what the server sends:
//
// - it consists of whole frames, within the windows and the frame size that the client allows;
// - each header can be decoded, and begins with a documented status;
// - nothing follows the end of a stream, or RST_STREAM, except RST_STREAM(NO_ERROR);
// - a body has the size that its header says, is empty for HEAD, and never contains the secret;
// - each complete response has a line in the access log, with its status.
//
// needs: fuzz_http2
// mutant: src/http/http2_stream.cc | const bool sends = has_body() && | const bool sends =
// mutant: src/http/http2_stream.cc | is_head_request_ = r.method == "HEAD" | is_head_request_ = false
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/check.h"
#include "fuzz/http/service.h"

extern "C" std::size_t LLVMFuzzerMutate(uint8_t* data, std::size_t size, std::size_t most);

namespace {

constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::size_t head_size = 9;
constexpr std::size_t most_pieces = 24;

std::string number(uint64_t n, int bytes) {
    std::string all;
    for (int i = bytes - 1; i >= 0; --i) all += static_cast<char>(n >> (8 * i));
    return all;
}

uint32_t number_at(std::string_view text, std::size_t at, std::size_t bytes) {
    uint32_t n = 0;
    for (std::size_t i = 0; i < bytes; ++i) n = n << 8U | static_cast<uint8_t>(text[at + i]);
    return n;
}

struct frame {
    uint8_t type = 0;
    uint8_t flags = 0;
    uint32_t stream = 0;
    std::string_view payload;

    [[nodiscard]] bool has(unsigned flag) const { return (flags & flag) != 0; }
};

// Takes a frame off the text. Returns false if that has no whole frame.
bool take_frame(std::string_view& text, frame& f) {
    if (text.size() < head_size) return false;
    const std::size_t size = number_at(text, 0, 3);
    if (text.size() < head_size + size) return false;
    f = {static_cast<uint8_t>(text[3]), static_cast<uint8_t>(text[4]), number_at(text, 5, 4) & 0x7fffffffU,
         text.substr(head_size, size)};
    text.remove_prefix(head_size + size);
    return true;
}

std::string text_of(const frame& f) {
    return number(f.payload.size(), 3) + number(f.type, 1) + number(f.flags, 1) + number(f.stream, 4) +
           std::string(f.payload);
}

// What the client allows, at most: some of it may be refused, or come later.
struct allowance {
    uint64_t initial = 65535;
    uint64_t frame_size = 16384;
    std::map<uint32_t, uint64_t> enlarged;
    bool changes_table = false;
};

allowance allowance_of(std::string_view sent) {
    constexpr std::size_t setting_size = 6;
    allowance a;
    frame f;
    while (take_frame(sent, f)) {
        if (f.type == NGHTTP2_WINDOW_UPDATE && f.payload.size() == 4)
            a.enlarged[f.stream] += number_at(f.payload, 0, 4) & 0x7fffffffU;
        if (f.type != NGHTTP2_SETTINGS) continue;
        for (; f.payload.size() >= setting_size; f.payload.remove_prefix(setting_size)) {
            const uint64_t value = number_at(f.payload, 2, 4);
            const uint32_t name = number_at(f.payload, 0, 2);
            if (name == NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE) a.initial = std::max(a.initial, value);
            if (name == NGHTTP2_SETTINGS_MAX_FRAME_SIZE) a.frame_size = std::max(a.frame_size, value);
            if (name == NGHTTP2_SETTINGS_HEADER_TABLE_SIZE) a.changes_table = true;
        }
    }
    return a;
}

struct stream {
    unsigned status = 0;
    std::size_t announced = std::string::npos;
    std::string body;
    bool has_trailers = false;
    bool has_ended = false;
    bool was_reset = false;
};

// The statuses that the server documents, except those for slowness and overload.
const std::set<unsigned> statuses{200, 204, 206, 301, 304, 308, 400, 404, 405, 412, 413, 415, 416, 417, 431, 501};

class reader {
public:
    reader(std::string_view about, const allowance& a) : about_(about), allowed_(a) { nghttp2_hd_inflate_new(&table_); }

    ~reader() { nghttp2_hd_inflate_del(table_); }

    reader(const reader&) = delete;
    reader& operator=(const reader&) = delete;

    // Returns how many responses are complete.
    std::map<uint32_t, stream> read(std::string_view text) {
        frame f;
        while (take_frame(text, f)) take(f);
        check(text.empty(), "the server sends whole frames");
        check(block_.empty(), "a header is complete");
        return std::move(streams_);
    }

private:
    void check(bool holds, const char* property) const { fuzz::check(holds, property, about_); }

    void take(const frame& f) {
        check(f.payload.size() <= allowed_.frame_size, "a frame has the allowed size");
        check(block_stream_ == 0 || (f.type == NGHTTP2_CONTINUATION && f.stream == block_stream_),
              "nothing is sent within a header");
        switch (f.type) {
            case NGHTTP2_HEADERS:
            case NGHTTP2_CONTINUATION:
                take_header(f);
                break;
            case NGHTTP2_DATA:
                take_data(f);
                break;
            case NGHTTP2_RST_STREAM:
                check(f.payload.size() == 4 && f.stream != 0, "RST_STREAM has a code and a stream");
                streams_[f.stream].was_reset = true;
                break;
            case NGHTTP2_SETTINGS:
            case NGHTTP2_PING:
            case NGHTTP2_GOAWAY:
                check(f.stream == 0, "a frame of the connection has no stream");
                break;
            default:
                check(f.type == NGHTTP2_WINDOW_UPDATE, "the server sends known types of frames");
        }
    }

    void take_data(const frame& f) {
        stream& s = streams_[f.stream];
        check(s.status >= 200 && !s.has_ended && !s.was_reset && !s.has_trailers, "a body follows its header");
        s.body += f.payload;
        all_ += f.payload.size();
        const auto enlarged = [&](uint32_t id) {
            const auto found = allowed_.enlarged.find(id);
            return found == allowed_.enlarged.end() ? 0 : found->second;
        };
        check(s.body.size() <= allowed_.initial + enlarged(f.stream), "a body fits the window of its stream");
        check(all_ <= 65535 + enlarged(0), "all bodies fit the window of the connection");
        if (f.has(NGHTTP2_FLAG_END_STREAM)) end(s);
    }

    void take_header(const frame& f) {
        block_ += f.payload;
        block_stream_ = f.stream;
        if (f.type == NGHTTP2_HEADERS) block_ends_ = f.has(NGHTTP2_FLAG_END_STREAM);
        if (!f.has(NGHTTP2_FLAG_END_HEADERS)) return;
        stream& s = streams_[f.stream];
        check(!s.has_ended && !s.was_reset && !s.has_trailers, "a header belongs to a stream that is open");
        check(s.status < 200 || block_ends_, "trailers end a stream");
        s.has_trailers = s.status >= 200;
        decode(s);
        block_.clear();
        block_stream_ = 0;
        if (block_ends_) end(s);
    }

    void decode(stream& s) {
        const auto* at = reinterpret_cast<const uint8_t*>(block_.data());
        std::size_t left = block_.size();
        bool is_first = true;
        for (;;) {
            nghttp2_nv field;
            int flags = 0;
            const ssize_t n = nghttp2_hd_inflate_hd2(table_, &field, &flags, at, left, 1);
            check(n >= 0, "a header can be decoded");
            at += n;
            left -= static_cast<std::size_t>(n);
            if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
                take_field(s, {reinterpret_cast<const char*>(field.name), field.namelen},
                           {reinterpret_cast<const char*>(field.value), field.valuelen}, is_first);
                is_first = false;
            }
            if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
        }
        nghttp2_hd_inflate_end_headers(table_);
    }

    void take_field(stream& s, std::string_view name, std::string_view value, bool is_first) {
        check(value.find(fuzz::http::secret) == std::string_view::npos, "no header contains the secret");
        if (!s.has_trailers) check(is_first == (name == ":status"), "the status comes first");
        if (name == ":status") {
            s.status = static_cast<unsigned>(std::stoul(std::string(value)));
            check(s.status == 100 || statuses.count(s.status) == 1, "a status is one of those that are documented");
        }
        if (name == "content-length") s.announced = std::stoul(std::string(value));
    }

    void end(stream& s) {
        s.has_ended = true;
        check(s.body.find(fuzz::http::secret) == std::string::npos, "no body contains the secret");
    }

    const std::string_view about_;
    const allowance allowed_;
    nghttp2_hd_inflater* table_ = nullptr;
    std::map<uint32_t, stream> streams_;
    std::string block_;
    uint32_t block_stream_ = 0;
    bool block_ends_ = false;
    uint64_t all_ = 0;
};

void check_log(const std::map<uint32_t, stream>& streams,
               std::vector<fuzz::http::log_line> log,
               std::string_view about) {
    for (const auto& [id, s] : streams) {
        if (!s.has_ended) continue;
        const auto line = std::find_if(log.begin(), log.end(), [&](const fuzz::http::log_line& l) {
            const bool has_body = !l.request.starts_with("HEAD ") && s.status != 204 && s.status != 304;
            return l.status == s.status && l.body_bytes == s.body.size() &&
                   (!has_body || s.announced == std::string::npos || s.announced == s.body.size());
        });
        fuzz::check(line != log.end(), "each response is in the log, with its status and size", about);
        fuzz::check(!line->request.starts_with("HEAD ") || s.body.empty(), "HEAD gets no body", about);
        log.erase(line);
    }
}

// Size 0 gives one piece. Otherwise pieces have this size, up to a limit of pieces.
std::vector<std::string_view> cut(std::string_view text, std::size_t size) {
    std::vector<std::string_view> pieces;
    while (size != 0 && text.size() > size && pieces.size() < most_pieces) {
        pieces.push_back(text.substr(0, size));
        text.remove_prefix(size);
    }
    pieces.push_back(text);
    return pieces;
}

// ---- Mutations.

std::string literal(std::string_view name, std::string_view value) {
    return std::string(1, '\0') + number(name.size(), 1) + std::string(name) + number(value.size(), 1) +
           std::string(value);
}

std::string request(std::string_view method, std::string_view path) {
    return literal(":method", method) + literal(":scheme", "http") + literal(":authority", "a") +
           literal(":path", path);
}

const std::vector<std::string>& fields() {
    static const std::vector<std::string> all{
        literal("content-length", "2"),
        literal("content-length", "1025"),
        literal("content-type", "application/json"),
        literal("content-encoding", "gzip"),
        literal("range", "bytes=2-5"),
        literal("range", "bytes=99-"),
        literal("if-none-match", "*"),
        literal("expect", "100-continue"),
        literal("expect", "x"),
        literal("te", "trailers"),
        literal("connection", "close"),
        literal("transfer-encoding", "chunked"),
        literal("host", "b"),
        literal("cookie", "a=b"),
        literal("X", "y"),
        literal(":path", "/a.txt"),
        literal(":status", "200"),
        literal("x", std::string(100, 'x')),
        "\x82",  // :method: GET
        "\x84",  // :path: /
        "\x86",  // :scheme: http
        "\x41\x01"
        "a",             // :authority: a, added to the table
        "\xbe",          // the newest field of the table
        "\x20",          // the table's size is 0
        "\x3f\xe1\x1f",  // … is 4096
    };
    return all;
}

constexpr auto methods = std::to_array<std::string_view>({"GET", "HEAD", "POST", "PUT", "OPTIONS", "CONNECT", "get"});
constexpr auto paths =
    std::to_array<std::string_view>({"/", "/a.txt", "/large", "/sub", "/sub/", "/api/echo", "/api/stats", "/.hidden",
                                     "/../s", "/up/s", "/%2e%2e/s", "*", "a", "//a", "http://example.com/", "/empty"});

// A random choice of each call: seed is spent.
class choices {
public:
    explicit choices(unsigned seed) : seed_(seed) {}

    unsigned below(std::size_t n) {
        seed_ = seed_ * 6364136223846793005U + 1442695040888963407U;
        return static_cast<unsigned>((seed_ >> 33U) % n);
    }

    template <typename Table>
    const auto& one_of(const Table& table) {
        return table[below(std::size(table))];
    }

private:
    uint64_t seed_;
};

uint32_t some_stream(choices& c) {
    constexpr auto ids = std::to_array<uint32_t>({0, 1, 3, 5, 7, 9, 11, 2, 0x7fffffff});
    return c.below(4) == 0 ? c.one_of(ids) : 1 + 2 * c.below(4);
}

std::string some_frame(choices& c) {
    const uint32_t id = some_stream(c);
    const auto flags = static_cast<uint8_t>(c.below(4) == 0 ? c.below(256) : 4 + c.below(2));
    std::string payload;
    frame f{0, flags, id, {}};
    switch (c.below(10)) {
        case 0:
        case 1:
        case 2:
            f.type = NGHTTP2_HEADERS;
            payload = request(c.one_of(methods), c.one_of(paths));
            for (unsigned more = c.below(3); more != 0; --more) payload += c.one_of(fields());
            break;
        case 3:
            f.type = NGHTTP2_HEADERS;  // trailers
            payload = c.one_of(fields());
            break;
        case 4:
            f.type = NGHTTP2_DATA;
            f.flags = static_cast<uint8_t>(c.below(2));
            payload = c.below(2) == 0 ? "[]" : std::string(c.below(1100), 'x');
            break;
        case 5:
            f.type = NGHTTP2_SETTINGS;
            f.flags = static_cast<uint8_t>(c.below(8) == 0 ? 1 : 0);
            f.stream = 0;
            if (f.flags == 0)
                payload = number(1 + c.below(6), 2) +
                          number(c.one_of(std::to_array<uint32_t>({0, 1, 10, 16384, 65535, 100'000, 0x7fffffff})), 4);
            break;
        case 6:
            f.type = NGHTTP2_WINDOW_UPDATE;
            payload = number(c.one_of(std::to_array<uint32_t>({0, 1, 1000, 100'000, 0x7fffffff})), 4);
            break;
        case 7:
            f.type = NGHTTP2_RST_STREAM;
            payload = number(c.below(14), 4);
            break;
        case 8:
            f.type = static_cast<uint8_t>(c.below(2) == 0 ? NGHTTP2_PING : NGHTTP2_GOAWAY);
            f.stream = 0;
            payload = std::string(8, '\0');
            break;
        default:
            f.type = static_cast<uint8_t>(c.below(2) == 0 ? NGHTTP2_CONTINUATION : c.below(20));
            payload = c.one_of(fields());
    }
    f.payload = payload;
    return text_of(f);
}

// Changes one frame, or its place.
void change_frame(std::vector<std::string>& frames, std::size_t at, choices& c) {
    std::string& text = frames[at];
    switch (c.below(7)) {
        case 0:
            frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(at));
            break;
        case 1:
            frames.insert(frames.begin() + static_cast<std::ptrdiff_t>(c.below(frames.size())), std::string(text));
            break;
        case 2:
            text[4] = static_cast<char>(static_cast<uint8_t>(text[4]) ^ (1U << c.below(6)));
            break;
        case 3:
            text.replace(5, 4, number(some_stream(c), 4));
            break;
        case 4:
            text[3] = static_cast<char>(c.below(11));
            break;
        default: {  // another payload
            std::string payload = text.substr(head_size);
            if (c.below(2) == 0) {
                payload.insert(c.below(payload.size() + 1), c.one_of(fields()));
            } else {
                payload.resize(payload.size() + 16);
                payload.resize(
                    LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(payload.data()), payload.size() - 16, payload.size()));
            }
            text = number(payload.size(), 3) + text.substr(3, head_size - 3) + payload;
        }
    }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
    if (seed % 8 == 0 || size == 0) return LLVMFuzzerMutate(data, size, most);
    choices c(seed);
    std::string_view text = fuzz::text_of(data + 1, size - 1);
    std::vector<std::string> frames;
    frame f;
    while (take_frame(text, f)) frames.push_back(text_of(f));
    if (frames.empty() || c.below(3) == 0) {
        frames.insert(frames.begin() + static_cast<std::ptrdiff_t>(c.below(frames.size() + 1)), some_frame(c));
    } else {
        change_frame(frames, c.below(frames.size()), c);
    }
    std::string changed;
    for (const std::string& one : frames) changed += one;
    changed += text;
    changed.resize(std::min(changed.size(), most - 1));
    std::memcpy(data + 1, changed.data(), changed.size());
    return 1 + changed.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    fuzz::http::write_time = std::chrono::milliseconds(20);  // windows may stay shut
    const std::string_view text = fuzz::text_of(data + 1, size - 1);
    const std::string sent = std::string(preface) + std::string(text);
    const fuzz::http::talk t = fuzz::http::talk_with_server(cut(sent, data[0]));
    const allowance a = allowance_of(text);
    if (a.changes_table) return 0;  // what the server may use depends on when it knows
    check_log(reader(text, a).read(t.answers), t.log, text);
    return 0;
}
