// http2_memory_test.cc: connections of HTTP/2 while memory runs out. The n-th allocation fails, for
// n = 1, 2, 3 … until a connection needs no more. Each connection ends, and the server goes on.
//
// malloc is replaced, because nghttp2 and operator new call it. So this needs glibc, and no
// sanitizer.
#include <cstdlib>

#include "support/build.h"

#if defined(__GLIBC__) && !WEFT_TEST_SANITIZED
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include <weft/http/server.h>
#include <weft/net/unix.h>
#include <weft/weft.h>

#include "http/http2_client.h"
#include "support/eventually.h"

namespace {

constinit std::atomic<int> allocations_until_failure{0};  // 0: none fails
constinit thread_local bool is_client = false;            // its allocations do not fail

bool fails_now() noexcept {
    int left = allocations_until_failure.load(std::memory_order_relaxed);
    if (left == 0 || is_client) return false;
    while (left > 0 && !allocations_until_failure.compare_exchange_weak(left, left - 1)) continue;
    return left == 1;
}

}  // namespace

extern "C" {

void* __libc_malloc(std::size_t size);                     // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(std::size_t count, std::size_t size);  // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void* old, std::size_t size);         // NOLINT(bugprone-reserved-identifier)

void* malloc(std::size_t size) noexcept { return fails_now() ? nullptr : __libc_malloc(size); }

void* calloc(std::size_t count, std::size_t size) noexcept {
    return fails_now() ? nullptr : __libc_calloc(count, size);
}

void* realloc(void* old, std::size_t size) noexcept { return fails_now() ? nullptr : __libc_realloc(old, size); }

}  // extern "C"

namespace weft::test {
namespace {

constexpr uint8_t last_header = NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM;

std::string asks(uint32_t id, std::string_view method, std::string_view path, const h2_client::fields& more = {}) {
    const uint8_t flags = method == "POST" ? uint8_t{NGHTTP2_FLAG_END_HEADERS} : last_header;
    return h2_client::frame(NGHTTP2_HEADERS, flags, id,
                            h2_client::block(h2_client::request_fields(method, path, more)));
}

// Serves one connection at a time, in a thread of its own.
class served_without_memory {
public:
    explicit served_without_memory(http::server_options how) {
        how.header_time = how.body_time = how.write_time = 3s;
        how.on_exception = [](const std::exception_ptr&, const http::request&) {};
        thread_ = std::thread([this, how] { runtime({.procs = 1}).run([&] { serve(how); }); });
    }

    ~served_without_memory() {
        is_over_ = true;
        thread_.join();
    }

    served_without_memory(const served_without_memory&) = delete;
    served_without_memory& operator=(const served_without_memory&) = delete;

    // What the server sends until it ends the connection.
    std::string talk(const std::string& bytes) {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        const timeval patience{.tv_sec = 20, .tv_usec = 0};
        ::setsockopt(ends[1], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        next_ = ends[0];
        eventually([&] { return next_ == 0; });
        allocations_until_failure = failing_;
        ::send(ends[1], bytes.data(), bytes.size(), MSG_NOSIGNAL);
        std::string got;
        std::array<char, 16384> part;
        for (ssize_t n = 1; n > 0;) {
            n = ::recv(ends[1], part.data(), part.size(), 0);
            EXPECT_TRUE(n >= 0 || errno != EAGAIN) << "the server does not end the connection; n = " << failing_;
            if (n > 0) got.append(part.data(), static_cast<std::size_t>(n));
        }
        has_failed_ = failing_ != 0 && allocations_until_failure.exchange(0) == 0;
        ::close(ends[1]);
        eventually([&] { return !is_serving_; });
        return got;
    }

    // Returns how many allocations a connection with these bytes makes.
    int count(const std::string& bytes) {
        is_client = true;
        has_failed_ = true;
        for (failing_ = 1; has_failed_; ++failing_) talk(bytes);
        const int count = failing_ - 2;
        failing_ = 0;
        is_client = false;
        return count;
    }

private:
    void serve(const http::server_options& how) {
        http::server server(how);
        server.handle("GET /{$}", [](http::request&, http::response& w) { w.send("hello"); });
        server.handle("POST /", [](http::request& r, http::response& w) {
            const std::string body = r.body();
            w.trailer("X-Sum", r.trailers().get("x-sum"));
            w.write(body);
            w.flush();
            w.write(body);
        });
        server.handle("POST /ignore", [](http::request&, http::response& w) { w.send("x"); });
        server.handle("GET /long", [](http::request&, http::response& w) { w.write(std::string(50'000, 'x')); });
        server.handle("GET /wait", [](http::request&, http::response&) { sleep_for(1ms); });
        server.handle("GET /throw", [](http::request&, http::response& w) {
            w.write("x");
            w.flush();
            throw 1;
        });
        while (!is_over_) {
            const int socket = next_;
            if (socket == 0) {
                sleep_for(50us);
                continue;
            }
            try {
                net::unix_stream stream = net::unix_stream::adopt(socket);
                is_serving_ = true;
                next_ = 0;
                server.serve_connection(std::move(stream));
            } catch (const std::exception&) {
                // No memory.
            }
            is_serving_ = false;
        }
        EXPECT_EQ(server.stats().open, 0U);
    }

    std::atomic<bool> is_over_ = false;
    std::atomic<int> next_ = 0;
    std::atomic<bool> is_serving_ = false;
    int failing_ = 0;
    bool has_failed_ = false;
    std::thread thread_;
};

const std::string memory_begin = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + h2_client::frame(NGHTTP2_SETTINGS, 0, 0, {});

// The server ends the connection after all responses.
const std::string memory_end = h2_client::frame(NGHTTP2_GOAWAY, 0, 0, std::string(8, '\0'));

void check_memory(const std::string& bytes, int least, http::server_options how = {}) {
    served_without_memory s(std::move(how));
    EXPECT_GE(s.count(bytes), least);
    EXPECT_NE(s.talk(memory_begin + asks(1, "GET", "/") + memory_end).find("hello"), std::string::npos);
}

TEST(Http2Memory, EndsConnectionsWithRequests) {
    check_memory(memory_begin + asks(1, "GET", "/") + asks(3, "POST", "/") +
                     h2_client::frame(NGHTTP2_DATA, 0, 3, std::string(5000, 'x')) +
                     h2_client::frame(NGHTTP2_HEADERS, last_header, 3, h2_client::block({{"x-sum", "1"}})) +
                     asks(5, "GET", "/long") + asks(7, "GET", "/wait") +
                     h2_client::frame(NGHTTP2_RST_STREAM, 0, 7, h2_client::number(NGHTTP2_CANCEL, 4)) +
                     asks(9, "GET", "/wait") + asks(11, "POST", "/ignore") +
                     h2_client::frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 11, "abc") + asks(13, "GET", "/none") +
                     memory_end,
                 150);
}

TEST(Http2Memory, EndsConnectionsThatBreakRules) {
    std::string pings;
    for (int i = 0; i < 1010; ++i) pings += h2_client::frame(NGHTTP2_PING, 0, 0, "12345678");
    check_memory(memory_begin + asks(1, "GET", "/throw") + asks(3, "GET", "/", {{"connection", "x"}}) +
                     asks(5, "GET", "/", {{"x", std::string(9000, 'x')}}) + pings,
                 100);
}

TEST(Http2Memory, EndsIdleConnections) {
    http::server_options how;
    how.idle_time = 50ms;
    check_memory(memory_begin + asks(1, "GET", "/"), 40, how);
}

}  // namespace
}  // namespace weft::test
#endif
