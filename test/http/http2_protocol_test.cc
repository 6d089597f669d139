// http2_protocol_test.cc: clients that break rules of HTTP/2 (RFC 9113), frame by frame. In
// simulations.
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "http/http2_client.h"

namespace weft::test {
namespace {

using http::request;
using http::response;
using h2 = h2_client;

constexpr uint8_t end_headers = NGHTTP2_FLAG_END_HEADERS;
constexpr uint8_t end_stream = NGHTTP2_FLAG_END_STREAM;
constexpr uint8_t end_both = NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM;

constexpr uint32_t no_reset = 1000;  // the stream is answered

struct broken_rule {
    const char* what;
    std::string bytes;  // after the preface, SETTINGS, and GET as stream 1, which waits
    uint32_t goaway;    // the code for the connection; no_reset: it goes on
    uint32_t reset;     // the code for stream 3
};

std::string settings_of(uint16_t name, uint32_t value) {
    return h2::frame(NGHTTP2_SETTINGS, 0, 0, h2::number(name, 2) + h2::number(value, 4));
}

std::string header_of(const h2::fields& all, uint8_t flags = end_both, uint32_t id = 3) {
    return h2::frame(NGHTTP2_HEADERS, flags, id, h2::block(all));
}

std::string request_of(std::string_view method = "GET", const h2::fields& more = {}, uint8_t flags = end_both) {
    return header_of(h2::request_fields(method, "/", more), flags);
}

std::string data_of(std::string_view bytes, uint8_t flags, uint32_t id = 3) {
    return h2::frame(NGHTTP2_DATA, flags, id, bytes);
}

void check_rules(const std::vector<broken_rule>& all) {
    const served s([](http::server& to) {
        to.handle("/{$}", [](request& r, response& w) { w.send(r.body()); });
        to.handle("/wait", [](request&, response&) { sleep_for(1h); });
    });
    for (const broken_rule& rule : all) {
        SCOPED_TRACE(rule.what);
        h2_client c(s);
        c.until([&] { return c.settings_answered == 1; });
        c.ask(1, "GET", "/wait");
        c.send_bytes(rule.bytes);
        if (rule.goaway != no_reset) {
            c.rest();
            EXPECT_EQ(c.goaway(), rule.goaway);
            continue;
        }
        const h2_stream& a = c.receive(3);
        EXPECT_EQ(a.reset.value_or(no_reset), rule.reset) << a.head;
        EXPECT_EQ(c.get(5, "/").status, 200U) << "the connection goes on";
    }
}

sim::options one_schedule() { return {.schedules = 1, .lateness = 0ns}; }

WEFT_SIM_TEST_WITH(Http2Protocol, ChecksFrames, one_schedule()) {
    const std::string ping(8, 'x');
    check_rules({
        {"4.2: DATA longer than allowed", request_of("POST", {}, end_headers) + data_of(std::string(16385, 'x'), 0),
         NGHTTP2_FRAME_SIZE_ERROR, 0},
        {"4.2: a header longer than allowed", h2::frame(NGHTTP2_HEADERS, end_both, 3, std::string(16385, 'x')),
         NGHTTP2_FRAME_SIZE_ERROR, 0},
        {"4.1: an unknown type is ignored", h2::frame(0x40, 0, 0, "x") + request_of(), no_reset, no_reset},
        {"4.3: a header that cannot be decoded", h2::frame(NGHTTP2_HEADERS, end_both, 3, "\xff\xff\xff\xff\xff\xff"),
         NGHTTP2_COMPRESSION_ERROR, 0},
        {"6.1: DATA of no stream", data_of("x", 0, 0), NGHTTP2_PROTOCOL_ERROR, 0},
        {"6.1: padding longer than DATA",
         request_of("POST", {}, end_headers) + data_of("\x09"
                                                       "x",
                                                       NGHTTP2_FLAG_PADDED),
         NGHTTP2_PROTOCOL_ERROR, 0},
        {"6.2: HEADERS of no stream", header_of({}, end_both, 0), NGHTTP2_PROTOCOL_ERROR, 0},
        {"6.2: another frame within a header", request_of("GET", {}, 0) + h2::frame(NGHTTP2_PING, 0, 0, ping),
         NGHTTP2_PROTOCOL_ERROR, 0},
        {"6.2: another stream within a header",
         request_of("GET", {}, 0) + h2::frame(NGHTTP2_CONTINUATION, end_headers, 5, ""), NGHTTP2_PROTOCOL_ERROR, 0},
        {"6.3: PRIORITY of another size", request_of("POST", {}, end_headers) + h2::frame(NGHTTP2_PRIORITY, 0, 3, "x"),
         NGHTTP2_FRAME_SIZE_ERROR, 0},
        {"6.4: RST_STREAM of no stream", h2::frame(NGHTTP2_RST_STREAM, 0, 0, "xxxx"), NGHTTP2_PROTOCOL_ERROR, 0},
        {"6.4: RST_STREAM of an idle stream", h2::frame(NGHTTP2_RST_STREAM, 0, 9, "xxxx"), NGHTTP2_PROTOCOL_ERROR, 0},
        {"6.4: RST_STREAM of another size",
         request_of("POST", {}, end_headers) + h2::frame(NGHTTP2_RST_STREAM, 0, 3, "x"), NGHTTP2_FRAME_SIZE_ERROR, 0},
        {"6.7: PING of a stream", h2::frame(NGHTTP2_PING, 0, 1, ping), NGHTTP2_PROTOCOL_ERROR, 0},
        {"6.7: PING of another size", h2::frame(NGHTTP2_PING, 0, 0, "x"), NGHTTP2_FRAME_SIZE_ERROR, 0},
        {"6.8: GOAWAY of a stream", h2::frame(NGHTTP2_GOAWAY, 0, 1, ping), NGHTTP2_PROTOCOL_ERROR, 0},
        {"6.10: CONTINUATION without a header", h2::frame(NGHTTP2_CONTINUATION, end_headers, 3, ""),
         NGHTTP2_PROTOCOL_ERROR, 0},
        {"8.4: PUSH_PROMISE by a client", h2::frame(NGHTTP2_PUSH_PROMISE, end_headers, 1, h2::number(2, 4)),
         NGHTTP2_PROTOCOL_ERROR, 0},
    });
}

WEFT_SIM_TEST_WITH(Http2Protocol, ChecksSettingsAndWindows, one_schedule()) {
    check_rules({
        {"6.5: SETTINGS of a stream", h2::frame(NGHTTP2_SETTINGS, 0, 1, ""), NGHTTP2_PROTOCOL_ERROR, 0},
        {"6.5: SETTINGS of another size", h2::frame(NGHTTP2_SETTINGS, 0, 0, "xxx"), NGHTTP2_FRAME_SIZE_ERROR, 0},
        {"6.5: an answer with settings", h2::frame(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, "xxxxxx"),
         NGHTTP2_FRAME_SIZE_ERROR, 0},
        {"6.5.2: ENABLE_PUSH", settings_of(NGHTTP2_SETTINGS_ENABLE_PUSH, 2), NGHTTP2_PROTOCOL_ERROR, 0},
        {"6.5.2: INITIAL_WINDOW_SIZE", settings_of(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0x80000000),
         NGHTTP2_FLOW_CONTROL_ERROR, 0},
        {"6.5.2: MAX_FRAME_SIZE, too small", settings_of(NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 16383),
         NGHTTP2_PROTOCOL_ERROR, 0},
        {"6.5.2: MAX_FRAME_SIZE, too large", settings_of(NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 1 << 24),
         NGHTTP2_PROTOCOL_ERROR, 0},
        {"6.5.2: an unknown setting is ignored", settings_of(0x1234, 1) + request_of(), no_reset, no_reset},
        {"6.9: WINDOW_UPDATE by 0", h2::frame(NGHTTP2_WINDOW_UPDATE, 0, 0, h2::number(0, 4)), NGHTTP2_PROTOCOL_ERROR,
         0},
        {"6.9: WINDOW_UPDATE of another size", h2::frame(NGHTTP2_WINDOW_UPDATE, 0, 0, "xxx"), NGHTTP2_FRAME_SIZE_ERROR,
         0},
        {"6.9: WINDOW_UPDATE of an idle stream", h2::frame(NGHTTP2_WINDOW_UPDATE, 0, 9, h2::number(1, 4)),
         NGHTTP2_PROTOCOL_ERROR, 0},
        {"6.9.1: the connection's window overflows", h2::frame(NGHTTP2_WINDOW_UPDATE, 0, 0, h2::number(0x7fffffff, 4)),
         NGHTTP2_FLOW_CONTROL_ERROR, 0},
        {"6.9.1: a stream's window overflows",
         request_of("POST", {}, end_headers) + h2::frame(NGHTTP2_WINDOW_UPDATE, 0, 3, h2::number(0x7fffffff, 4)),
         no_reset, NGHTTP2_FLOW_CONTROL_ERROR},
        {"6.9.2: a setting makes a window overflow",
         request_of("POST", {}, end_headers) + h2::frame(NGHTTP2_WINDOW_UPDATE, 0, 3, h2::number(0x7fff0000, 4)) +
             settings_of(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0x7fffffff),
         no_reset, NGHTTP2_FLOW_CONTROL_ERROR},
    });
    const served s([](http::server& to) { to.handle("/", [](request&, response&) { sleep_for(1h); }); });
    h2_client c(s);  // more than the server's window
    c.ask(1, "POST", "/", {}, false);
    c.data(1, std::string(65536, 'x'), false);
    EXPECT_EQ(c.receive(1).reset, uint32_t{NGHTTP2_FLOW_CONTROL_ERROR});
}

WEFT_SIM_TEST_WITH(Http2Protocol, ChecksStreamStates, one_schedule()) {
    check_rules({
        {"5.1: DATA of an idle stream", data_of("x", 0, 9), NGHTTP2_PROTOCOL_ERROR, 0},
        {"5.1: DATA after END_STREAM", header_of(h2::request_fields("GET", "/wait")) + data_of("x", 0),
         NGHTTP2_STREAM_CLOSED, 0},
        {"5.1: HEADERS after END_STREAM", header_of(h2::request_fields("GET", "/wait")) + header_of({{"x", "y"}}),
         NGHTTP2_STREAM_CLOSED, 0},
        {"5.1.1: a stream of the server's", header_of(h2::request_fields("GET", "/"), end_both, 2),
         NGHTTP2_PROTOCOL_ERROR, 0},
        {"5.3.1: a stream that depends on itself",
         h2::frame(NGHTTP2_HEADERS, end_both | NGHTTP2_FLAG_PRIORITY, 3,
                   h2::number(3, 4) + "x" + h2::block(h2::request_fields("GET", "/"))),
         NGHTTP2_PROTOCOL_ERROR, 0},
        {"8.1: trailers without END_STREAM", request_of("POST", {}, end_headers) + header_of({{"x", "y"}}, end_headers),
         no_reset, NGHTTP2_PROTOCOL_ERROR},
    });
}

WEFT_SIM_TEST_WITH(Http2Protocol, RefusesWhatCouldBeReadInTwoWays, one_schedule()) {
    const auto without = [](std::string_view name) {
        h2::fields all = h2::request_fields("GET", "/");
        std::erase_if(all, [&](const auto& f) { return f.first == name; });
        return header_of(all);
    };
    const auto malformed = [](const char* what, const h2::fields& more) {
        return broken_rule{what, request_of("GET", more), no_reset, NGHTTP2_PROTOCOL_ERROR};
    };
    const auto body = [](const char* what, const char* said, const char* sent) {
        return broken_rule{what,
                           request_of("POST", {{"content-length", said}}, end_headers) + data_of(sent, end_stream),
                           no_reset, NGHTTP2_PROTOCOL_ERROR};
    };
    check_rules({
        {"8.3.1: no method", without(":method"), no_reset, NGHTTP2_PROTOCOL_ERROR},
        {"8.3.1: no path", without(":path"), no_reset, NGHTTP2_PROTOCOL_ERROR},
        {"8.3.1: no scheme", without(":scheme"), no_reset, NGHTTP2_PROTOCOL_ERROR},
        {"8.3.1: an empty path", header_of(h2::request_fields("GET", "")), no_reset, NGHTTP2_PROTOCOL_ERROR},
        {"8.3.1: a path without a slash", header_of(h2::request_fields("GET", "x")), no_reset, NGHTTP2_PROTOCOL_ERROR},
        malformed("8.3: a pseudo-header after a field", {{"x", "y"}, {":method", "GET"}}),
        malformed("8.3: a pseudo-header twice", {{":path", "/"}}),
        malformed("8.3: an unknown pseudo-header", {{":x", "y"}}),
        malformed("8.3: one of a response", {{":status", "200"}}),
        malformed("8.2: a name in upper case", {{"X", "y"}}),
        malformed("8.2.1: a name with a space", {{"x y", "z"}}),
        malformed("8.2.1: a value with a line break", {{"x", "a\r\nb: c"}}),
        malformed("8.2.1: a value with a NUL", {{"x", std::string(1, '\0')}}),
        malformed("8.2.2: Connection", {{"connection", "close"}}),
        malformed("8.2.2: Transfer-Encoding", {{"transfer-encoding", "chunked"}}),
        malformed("8.2.2: Keep-Alive", {{"keep-alive", "1"}}),
        malformed("8.2.2: Upgrade", {{"upgrade", "x"}}),
        malformed("8.2.2: TE", {{"te", "gzip"}}),
        malformed("8.1.1: Content-Length without a body", {{"content-length", "5"}}),
        malformed("8.1.1: Content-Length that is no number", {{"content-length", "-1"}}),
        malformed("8.1.1: Content-Length twice", {{"content-length", "0"}, {"content-length", "1"}}),
        body("8.1.1: a body longer than it says", "2", "abc"),
        body("8.1.1: a body shorter than it says", "4", "abc"),
        {"8.1: a pseudo-header in trailers",
         request_of("POST", {}, end_headers) + header_of({{":path", "/x"}}, end_both), no_reset,
         NGHTTP2_PROTOCOL_ERROR},
        {"TE: trailers is allowed", request_of("GET", {{"te", "trailers"}}), no_reset, no_reset},
    });
}

WEFT_SIM_TEST_WITH(Http2Protocol, RefusesOtherHosts, one_schedule()) {
    const served s([](http::server& to) { to.handle("/", [](request& r, response& w) { w.send(r.host()); }); });
    h2_client c(s);
    c.ask(1, "GET", "/", {{"host", "other"}});
    EXPECT_EQ(c.receive(1).status, 400U);
    c.ask(3, "GET", "/", {{"host", "TEST"}});
    EXPECT_EQ(c.receive(3).body, "test");
    c.send_bytes(header_of({{":method", "GET"}, {":scheme", "http"}, {":path", "/"}}, end_both, 5));
    EXPECT_NE(c.receive(5).status, 200U);
    c.send_bytes(header_of({{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {"host", "only"}}, end_both, 7));
    EXPECT_EQ(c.receive(7).body, "only");
    c.send_bytes(header_of({{":method", "CONNECT"}, {":authority", "x:1"}}, end_headers, 9));
    EXPECT_EQ(c.receive(9).status, 400U);
    c.ask(11, "GET", "/../x");
    EXPECT_EQ(c.receive(11).status, 400U);
    c.ask(13, "OPTIONS", "*");
    EXPECT_EQ(c.receive(13).status, 204U);
    uint32_t id = 15;
    for (const char* path :
         {"http://example.com/", "//example.com/", "example"}) {  // nghttp2 checks the paths of http and https
        c.send_bytes(
            header_of({{":method", "GET"}, {":scheme", "ftp"}, {":authority", "test"}, {":path", path}}, end_both, id));
        EXPECT_NE(c.receive(id).status, 200U) << path;
        id += 2;
    }
}

WEFT_SIM_TEST_WITH(Http2Protocol, EndsAConnectionWithoutPreface, one_schedule()) {
    const served s([](http::server& to) { to.handle("/", [](request&, response&) {}); });
    h2_client c(s, true);
    c.send(NGHTTP2_PING, 0, 0, "12345678");  // not SETTINGS
    c.rest();
    EXPECT_TRUE(c.is_closed);
    EXPECT_EQ(c.pings_answered, 0U);
}

// Bytes of a valid connection, some of which are changed at random: the server neither crashes nor
// keeps anything.
WEFT_SIM_TEST_WITH(Http2Protocol, SurvivesChangedBytes, one_schedule()) {
    constexpr int connections = 400;
    http::server_options how;
    how.cancel_if_client_gone = false;  // a client that ends its side still gets answers
    served s(
        [](http::server& to) {
            to.handle("/{$}", [](request& r, response& w) {
                w.trailer("X-Sum", "1");
                w.send(r.body());
            });
            to.handle("/wait", [](request&, response&) { sleep_for(1s); });
        },
        how);
    std::string valid =
        h2::frame(NGHTTP2_SETTINGS, 0, 0, h2::number(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 2) + h2::number(256, 4));
    valid += header_of(h2::request_fields("GET", "/wait"), end_both, 1);
    valid += request_of("POST", {{"content-length", "300"}}, end_headers) + data_of(std::string(300, 'x'), end_stream);
    valid += h2::frame(NGHTTP2_WINDOW_UPDATE, 0, 3, h2::number(1000, 4)) + h2::frame(NGHTTP2_PING, 0, 0, "12345678");
    valid += header_of(h2::request_fields("POST", "/", {{"cookie", "a=b"}, {"te", "trailers"}}), end_headers, 5);
    valid += data_of("abc", 0, 5) + header_of({{"x-trailer", "1"}}, end_both, 5);
    valid += h2::frame(NGHTTP2_PRIORITY, 0, 7, h2::number(3, 4) + "x") +
             h2::frame(NGHTTP2_RST_STREAM, 0, 1, h2::number(8, 4));
    valid += header_of(h2::request_fields("HEAD", "/"), NGHTTP2_FLAG_END_STREAM, 7);
    valid += h2::frame(NGHTTP2_CONTINUATION, end_headers, 7, h2::block({{"more", "1"}}));
    unsigned answered = 0;
    std::mt19937 random(1);  // NOLINT(*-msc51-cpp): the same bytes each time
    for (int i = 0; i < connections; ++i) {
        h2_client c(s, true);
        std::string bytes = valid;
        for (std::size_t changes = random() % 6; changes != 0; --changes) {
            const std::size_t at = random() % bytes.size();
            bytes[at] =
                static_cast<char>(random() % 3 == 0 ? random() : static_cast<unsigned>(bytes[at]) + random() % 3);
        }
        c.send_bytes(bytes);
        std::error_code ec;
        c.stream().shutdown_send(ec);
        c.rest();
        EXPECT_TRUE(c.is_closed);
        for (const auto& [id, stream] : c.streams) answered += stream.status == 200 ? 1 : 0;
    }
    sleep_for(10s);
    EXPECT_GT(answered, 100U);
    EXPECT_EQ(s.server().stats().open, 0U);
}

}  // namespace
}  // namespace weft::test
