// compress_test.cc: compressed responses, and requests with a content coding, in simulations.
#include <boost/beast/zlib/inflate_stream.hpp>
#include <boost/crc.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <weft/http/compress.h>
#include <weft/http/events.h>
#include <weft/http/files.h>

#include "http/served.h"

namespace weft::test {
namespace {

using http::request;
using http::response;

// The content of a gzip file of one member. Checks its sum.
std::string decompressed(std::string_view gz) {
    namespace zlib = boost::beast::zlib;
    constexpr std::size_t head = 10;
    constexpr std::size_t tail = 8;
    EXPECT_GE(gz.size(), head + tail);
    if (gz.size() < head + tail) return {};
    EXPECT_EQ(gz.substr(0, 3), "\x1f\x8b\x08");
    std::string all(std::size_t{1} << 20, '\0');
    zlib::inflate_stream stream;
    zlib::z_params p;
    p.next_in = gz.data() + head;
    p.avail_in = gz.size() - head - tail;
    p.next_out = all.data();
    p.avail_out = all.size();
    boost::system::error_code ec;
    stream.write(p, zlib::Flush::sync, ec);
    EXPECT_TRUE(!ec || ec == zlib::error::end_of_stream) << ec.message();
    EXPECT_EQ(p.avail_in, 0U);
    all.resize(all.size() - p.avail_out);
    boost::crc_32_type crc;
    crc.process_bytes(all.data(), all.size());
    const auto number_at = [&](std::size_t at) {
        uint32_t n = 0;
        for (std::size_t i = 4; i-- > 0;) n = n << 8 | static_cast<unsigned char>(gz[at + i]);
        return n;
    };
    EXPECT_EQ(number_at(gz.size() - 8), crc.checksum());
    EXPECT_EQ(number_at(gz.size() - 4), all.size());
    return all;
}

// The contents of the chunks.
std::string joined(std::string_view chunks) {
    std::string all;
    while (!chunks.empty()) {
        const std::size_t line = chunks.find("\r\n");
        const std::size_t size = std::stoul(std::string(chunks.substr(0, line)), nullptr, 16);
        if (size == 0) break;
        all += chunks.substr(line + 2, size);
        chunks.remove_prefix(line + 2 + size + 2);
    }
    return all;
}

const std::string& long_text() {
    static const std::string all = [] {
        std::string made;
        for (int i = 0; i < 20'000; ++i) made += std::to_string(i * 7919 % 1000) + ' ';
        return made;
    }();
    return all;
}

void add_handlers(http::server& to) {
    to.use(http::compress());
    to.handle("/text", [](request&, response& w) { w.set("ETag", "\"1\"").send(std::string(2000, 'x')); });
    to.handle("/short", [](request&, response& w) { w.send(std::string(1023, 'x')); });
    to.handle("/image", [](request&, response& w) { w.send(std::string(2000, 'x'), "image/png"); });
    to.handle("/json", [](request&, response& w) { w.send(std::string(2000, 'x'), "application/problem+JSON; a=b"); });
    to.handle("/encoded", [](request&, response& w) { w.set("Content-Encoding", "br").send(std::string(2000, 'x')); });
    to.handle("/same", [](request&, response& w) {
        w.set("Cache-Control", "public, no-transform").send(std::string(2000, 'x'));
    });
    to.handle("/content", [](request& r, response& w) {
        http::serve_content(r, w, long_text(), {.type = "text/plain", .tag = "\"v1\""});
    });
    to.handle("/long", [](request&, response& w) {
        w.set("Content-Type", "text/plain").set("Content-Length", std::to_string(long_text().size()));
        for (std::size_t at = 0; at < long_text().size(); at += 1000) w.write(long_text().substr(at, 1000));
    });
    to.handle("/head", [](request& r, response& w) {
        w.set("Content-Type", "text/plain").set("Content-Length", "2000");
        if (r.method() != "HEAD") w.write(std::string(2000, 'x'));
    });
    to.handle("/failure", [](request&, response& w) {
        w.set("ETag", "\"1\"").send(std::string(2000, 'x'));
        throw http::failure(404, std::string(3000, 'y'));
    });
    to.handle("/events", [](request&, response& w) { w.events().send(std::string(2000, 'x')); });
}

answer get_gzip(const served& s, const std::string& path, const std::string& fields = {}) {
    return raw_client(s).ask(request_text("GET " + path, "Accept-Encoding: deflate, gzip\r\n" + fields));
}

WEFT_SIM_TEST_WITH(HttpCompress, CompressesText, few_schedules()) {
    const served s(add_handlers);
    const answer a = get_gzip(s, "/text");
    EXPECT_TRUE(a.has("Content-Encoding: gzip") && a.has("Vary: Accept-Encoding") && a.has("ETag: W/\"1\"")) << a.head;
    EXPECT_LT(a.body.size(), 100U);
    EXPECT_EQ(decompressed(a.body), std::string(2000, 'x'));
    EXPECT_EQ(decompressed(get_gzip(s, "/json").body), std::string(2000, 'x'));
    const answer streamed = get_gzip(s, "/long");
    EXPECT_TRUE(streamed.has("Transfer-Encoding: chunked")) << streamed.head;
    EXPECT_EQ(decompressed(joined(streamed.body)), long_text());
    raw_client c(s);
    c.send(request_text("HEAD /text", "Accept-Encoding: gzip\r\n") + request_text("GET /short"));
    const answer head = c.receive(true);
    EXPECT_TRUE(head.has("Content-Encoding: gzip") && head.has("Content-Length: " + std::to_string(a.body.size())))
        << head.head;
    EXPECT_EQ(c.receive().body.size(), 1023U);
}

WEFT_SIM_TEST_WITH(HttpCompress, DescribesWhatIsNotSent, few_schedules()) {
    const served s(add_handlers);
    const auto ask = [&](const std::string& line, const std::string& fields) {
        raw_client c(s);
        c.send(request_text(line, fields));
        return c.receive(true);
    };
    const answer known = ask("GET /content", "Accept-Encoding: gzip\r\nIf-None-Match: \"v1\"\r\n");
    EXPECT_EQ(known.status, 304U);
    EXPECT_TRUE(known.has("Vary: Accept-Encoding") && known.has("ETag: W/\"v1\"")) << known.head;
    EXPECT_EQ(known.head.find("Content-"), std::string::npos) << known.head;
    const answer plain = ask("GET /content", "If-None-Match: \"v1\"\r\n");
    EXPECT_TRUE(plain.has("Vary: Accept-Encoding") && plain.has("ETag: \"v1\"")) << plain.head;
    const answer head = ask("HEAD /head", "Accept-Encoding: gzip\r\n");
    EXPECT_TRUE(head.has("Vary: Accept-Encoding") && head.has("Content-Encoding: gzip")) << head.head;
    EXPECT_EQ(head.head.find("Content-Length"), std::string::npos) << "its length is not known";
    const answer plain_head = ask("HEAD /head", {});
    EXPECT_TRUE(plain_head.has("Vary: Accept-Encoding") && plain_head.has("Content-Length: 2000")) << plain_head.head;
}

WEFT_SIM_TEST_WITH(HttpCompress, LeavesTheRestAsItIs, few_schedules()) {
    const served s(add_handlers);
    for (const char* path : {"/short", "/image", "/same"}) {
        const answer a = get_gzip(s, path);
        EXPECT_FALSE(a.has("Content-Encoding: gzip")) << path;
        EXPECT_FALSE(a.has("Vary: Accept-Encoding")) << path;
        EXPECT_GE(a.body.size(), 1000U);
    }
    EXPECT_TRUE(get_gzip(s, "/encoded").has("Content-Encoding: br"));
    const answer plain = raw_client(s).ask(request_text("GET /text", "Accept-Encoding: br\r\n"));
    EXPECT_TRUE(plain.has("Vary: Accept-Encoding") && plain.has("ETag: \"1\"")) << plain.head;
    EXPECT_EQ(plain.body, std::string(2000, 'x'));
    const answer long_one = raw_client(s).ask(request_text("GET /long"));
    EXPECT_TRUE(long_one.has("Vary: Accept-Encoding")) << long_one.head;
    EXPECT_EQ(long_one.body, long_text());
    const answer failed = get_gzip(s, "/failure");
    EXPECT_EQ(failed.status, 404U);
    EXPECT_FALSE(failed.has("Content-Encoding: gzip"));
    EXPECT_FALSE(get_gzip(s, "/events").has("Content-Encoding: gzip"));
}

WEFT_SIM_TEST_WITH(HttpCompress, LeavesRangesAsTheyAre, few_schedules()) {
    const served s(add_handlers);
    const answer whole = get_gzip(s, "/content");
    EXPECT_TRUE(whole.has("ETag: W/\"v1\"")) << whole.head;
    EXPECT_EQ(whole.head.find("Accept-Ranges"), std::string::npos);
    EXPECT_EQ(decompressed(joined(whole.body)), long_text());
    const answer part = get_gzip(s, "/content", "Range: bytes=10-2009\r\n");
    EXPECT_EQ(part.status, 206U);
    EXPECT_EQ(part.body, long_text().substr(10, 2000));
    EXPECT_EQ(get_gzip(s, "/content", "If-None-Match: W/\"v1\"\r\n").status, 304U);
    EXPECT_EQ(get_gzip(s, "/content", "Range: bytes=1-2\r\nIf-Range: W/\"v1\"\r\n").status, 200U);
}

WEFT_SIM_TEST_WITH(HttpCompress, SendsWhatIsFlushed, few_schedules()) {
    event received;
    const served s([&](http::server& to) {
        to.use(http::compress());
        to.handle("/", [&](request&, response& w) {
            w.set("Content-Type", "text/plain").write("first");
            w.flush();
            received.wait();  // the client has it before the handler returns
            w.write("second");
        });
    });
    raw_client c(s);
    c.send(request_text("GET /", "Accept-Encoding: gzip\r\nConnection: close\r\n"));
    std::string got;
    while (got.find("\r\n\r\n") == std::string::npos || got.size() < got.find("\r\n\r\n") + 20) got += c.part();
    received.set();
    got += c.rest();
    EXPECT_EQ(decompressed(joined(std::string_view(got).substr(got.find("\r\n\r\n") + 4))), "firstsecond");
}

WEFT_SIM_TEST_WITH(HttpCompress, RefusesCompressedRequests, few_schedules()) {
    const served s([&](http::server& to) {
        to.handle("/", [](request& r, response& w) { w.send(r.body()); });
        to.handle("/raw", [](request& r, response& w) {
            r.allow_encoded_body();
            w.send(r.body());
        });
        to.handle("/unread", [](request&, response& w) { w.send("ok"); });
    });
    const auto post = [&](const std::string& path, const std::string& coding) {
        return raw_client(s).ask(
            request_text("POST " + path, "Content-Length: 2\r\nContent-Encoding: " + coding + "\r\n", "ab"));
    };
    const answer refused = post("/", "gzip");
    EXPECT_EQ(refused.status, 415U);
    EXPECT_TRUE(refused.has("Accept-Encoding: identity")) << refused.head;
    EXPECT_EQ(post("/", "identity").body, "ab");
    EXPECT_EQ(post("/raw", "gzip").body, "ab");
    raw_client c(s);
    EXPECT_EQ(c.ask(request_text("POST /unread", "Content-Length: 2\r\nContent-Encoding: gzip\r\n", "ab")).body, "ok");
    EXPECT_EQ(c.ask(request_text("GET /unread")).body, "ok") << "the connection is kept";
}

}  // namespace
}  // namespace weft::test
