// Client libraries that know nothing of green threads, unmodified and blocking: hiredis, libcurl.
#include <curl/curl.h>
#include <hiredis/hiredis.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <weft/net/tcp.h>
#include <weft/weft.h>

#include "redis/served.h"
#include "support/more_files.h"
#include "support/resources.h"

namespace weft::test {

namespace {

// WEFT_HOOKS_CLIENTS: a number of clients for a long run.
int clients_or(int usual) {
    const char* wanted = std::getenv("WEFT_HOOKS_CLIENTS");
    return wanted == nullptr ? usual : std::atoi(wanted);
}

class HooksWithLibraries : public procs_test {
protected:
    HooksWithLibraries() : procs_test(std::chrono::seconds(60)) {}
};

INSTANTIATE_TEST_SUITE_P(Procs, HooksWithLibraries, ::testing::Values(1U, 2U), [](const auto& p) {
    return "P" + std::to_string(p.param);
});

struct reply_deleter {
    void operator()(redisReply* r) const { ::freeReplyObject(r); }
};

using reply = std::unique_ptr<redisReply, reply_deleter>;

reply command(redisContext* c, const char* text, const char* key) {
    return reply(static_cast<redisReply*>(::redisCommand(c, text, key)));
}

}  // namespace

// Each client waits for what the next one sends: an OS thread for each would be needed without the
// hooks.
TEST_P(HooksWithLibraries, ManyClientsOfHiredisWaitForEachOther) {
    if (!has_program("redis-server")) GTEST_SKIP() << "no redis-server; run: apt-get install redis-server";
    const more_files files;
    const int clients = std::min(clients_or(1000), more_files::connections());
    redis_server server({"--save", "", "--appendonly", "no", "--maxclients", std::to_string(clients + 100)});
    const auto colon = server.address().rfind(':');
    const std::string host = server.address().substr(0, colon);
    const int port = std::stoi(server.address().substr(colon + 1));
    std::atomic<int> failed{0};
    std::atomic<int> passed{0};
    std::size_t threads = 0;
    rt().run([&] {
        wait_group all;
        for (int i = 0; i < clients; ++i) {
            all.go([&, i] {
                redisContext* c = ::redisConnect(host.c_str(), port);
                if (c == nullptr || c->err != 0) {
                    ++failed;
                    if (c != nullptr) ::redisFree(c);
                    return;
                }
                const std::string mine = "list" + std::to_string(i);
                const std::string next = "list" + std::to_string(i + 1);
                const reply got = command(c, "BLPOP %s 0", mine.c_str());
                if (got == nullptr || got->type != REDIS_REPLY_ARRAY) ++failed;
                const reply sent = command(c, "RPUSH %s token", next.c_str());
                if (sent == nullptr || sent->type != REDIS_REPLY_INTEGER) {
                    ++failed;
                } else {
                    ++passed;
                }
                ::redisFree(c);
            });
        }
        redisContext* c = ::redisConnect(host.c_str(), port);
        ASSERT_TRUE(c != nullptr && c->err == 0) << (c == nullptr ? "" : c->errstr);
        for (;;) {  // until all wait
            const reply text = command(c, "INFO %s", "clients");
            if (text == nullptr || failed != 0) break;
            if (std::string_view(text->str, text->len).find("blocked_clients:" + std::to_string(clients)) !=
                std::string_view::npos)
                break;
            weft::sleep_for(std::chrono::milliseconds(5));
        }
        threads = resources::now().threads;
        command(c, "RPUSH %s token", "list0");
        all.wait();
        ::redisFree(c);
    });
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(passed, clients);
    EXPECT_LT(threads, 40U) << "clients have blocked OS threads";
}

TEST_P(HooksWithLibraries, TheEasyInterfaceOfLibcurl) {
    ::curl_global_init(CURL_GLOBAL_DEFAULT);
    constexpr int clients = 50;
    std::atomic<int> passed{0};
    std::atomic<int> waiting{0};
    std::atomic<int> timed_out{0};
    rt().run([&] {
        net::tcp_listener listener("127.0.0.1:0");
        const std::string url = "http://" + listener.local_endpoint().to_string() + "/";
        wait_group all;
        // Answers when all have asked.
        all.go([&] {
            wait_group served;
            for (int i = 0; i < clients; ++i) {
                served.go([&, peer = std::make_shared<net::tcp_stream>(listener.accept())] {
                    std::string request;
                    char part[1000];
                    while (request.find("\r\n\r\n") == std::string::npos) {
                        const std::size_t n = peer->read_some({part, sizeof part});
                        if (n == 0) return;
                        request.append(part, n);
                    }
                    ++waiting;
                    while (waiting < clients) weft::sleep_for(std::chrono::milliseconds(1));
                    peer->write_all(
                        std::string_view("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"));
                });
            }
            served.wait();
        });
        for (int i = 0; i < clients; ++i) {
            all.go([&] {
                CURL* c = ::curl_easy_init();
                std::string got;
                ::curl_easy_setopt(c, CURLOPT_URL, url.c_str());
                ::curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
                ::curl_easy_setopt(c, CURLOPT_WRITEDATA, &got);
                ::curl_easy_setopt(
                    c, CURLOPT_WRITEFUNCTION, +[](char* data, size_t size, size_t n, void* to) {
                        static_cast<std::string*>(to)->append(data, size * n);
                        return size * n;
                    });
                if (::curl_easy_perform(c) == CURLE_OK && got == "hello") ++passed;
                ::curl_easy_cleanup(c);
            });
        }
        all.wait();
        // The kernel accepts the connection, and nothing answers.
        CURL* c = ::curl_easy_init();
        ::curl_easy_setopt(c, CURLOPT_URL, url.c_str());
        ::curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
        ::curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, 50L);
        if (::curl_easy_perform(c) == CURLE_OPERATION_TIMEDOUT) ++timed_out;
        ::curl_easy_cleanup(c);
    });
    EXPECT_EQ(passed, clients);
    EXPECT_EQ(timed_out, 1);
    ::curl_global_cleanup();
}

}  // namespace weft::test
