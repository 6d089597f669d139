// client_test.cc: commands, replies, pipelines, transactions, the pool.
#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "redis/served.h"

namespace weft::test {
namespace {

using redis::client;
using redis::command;
using redis::reply;

using RedisClient = redis_test;
WEFT_SWEEP_OVER(RedisClient, 1U, 4U);

TEST_P(RedisClient, RepliesAreTyped) {
    const redis_server s;
    rt().run([&] {
        client c(s.at());
        EXPECT_TRUE(c.call<bool>({"SET", "n", 41}));
        EXPECT_EQ(c.call<int>({"INCR", "n"}), 42);
        EXPECT_EQ(c.call<std::string>({"GET", "n"}), "42");
        EXPECT_EQ(c.call<long>({"GET", "n"}), 42);
        EXPECT_EQ(c.call<double>({"INCRBYFLOAT", "n", "0.5"}), 42.5);
        EXPECT_EQ(c.call<std::optional<std::string>>({"GET", "none"}), std::nullopt);
        c.call(command("RPUSH", "list").add_all(std::vector<std::string>{"a", "b", "c"}));
        EXPECT_EQ(c.call<std::vector<std::string>>({"LRANGE", "list", 0, -1}),
                  (std::vector<std::string>{"a", "b", "c"}));
        c.call({"HSET", "hash", "one", 1, "two", 2});
        const auto hash = c.call<std::vector<std::pair<std::string, int>>>({"HGETALL", "hash"});
        ASSERT_EQ(hash.size(), 2U);
        EXPECT_EQ(hash[1], std::pair(std::string("two"), 2));
        EXPECT_EQ(c.call({"EVAL", "return {1, {2, {'x', false}}, {}}", 0}).to_string(), "1\n2\nx\n(nil)\n(empty)");
    });
}

TEST_P(RedisClient, ValuesAreAnyBytes) {
    const redis_server s;
    rt().run([&] {
        client c({.address = s.path()});
        std::string bytes;
        for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
        std::string large;
        while (large.size() < 3'000'000) large += bytes;
        for (const std::string& value : {std::string(), std::string("\r\n$5\r\n"), bytes, large}) {
            c.call({"SET", bytes, value});
            EXPECT_EQ(c.call<std::string>({"GET", bytes}), value);
        }
    });
}

TEST_P(RedisClient, ErrorsOfTheServerHaveACode) {
    const redis_server s;
    rt().run([&] {
        client c(s.at());
        c.call({"SET", "text", "x"});
        try {
            c.call({"LPUSH", "text", "y"});
            FAIL() << "no error";
        } catch (const redis::server_error& e) {
            EXPECT_EQ(e.code(), "WRONGTYPE");
        }
        EXPECT_EQ(code_of([&] { static_cast<void>(c.call<int>({"GET", "text"})); }), redis::errc::wrong_kind);
        EXPECT_EQ(c.stats().connections, 1U) << "the connection is still in use";
    });
}

TEST_P(RedisClient, CommandsThatTheClientCannotSendAreRefused) {
    rt().run([] {
        client c({.address = "127.0.0.1:1"});  // none of them connects
        EXPECT_THROW(c.call({"SUBSCRIBE", "x"}), std::invalid_argument);
        EXPECT_THROW(c.call({"watch", "x"}), std::invalid_argument);
        EXPECT_THROW(c.call_all({"MULTI"}), std::invalid_argument);
        EXPECT_THROW(client({.address = ""}), std::invalid_argument);
        EXPECT_THROW(client({.connections_max = 0}), std::invalid_argument);
        EXPECT_THROW(client({.reply_time = 0s}), std::invalid_argument);
    });
}

TEST_P(RedisClient, APipelineIsAnsweredInOrder) {
    const redis_server s;
    rt().run([&] {
        client c(s.at());
        std::vector<command> commands;
        for (int i = 0; i < 5'000; ++i) {
            commands.push_back({"RPUSH", "list", i});
            commands.push_back({"LINDEX", "list", -1});
        }
        commands.push_back("NONSENSE");
        commands.push_back({"LLEN", "list"});
        const std::vector<reply> replies = c.call_all(commands);
        ASSERT_EQ(replies.size(), commands.size());
        for (int i = 0; i < 5'000; ++i) EXPECT_EQ(replies[static_cast<std::size_t>(2 * i + 1)].as<int>(), i);
        EXPECT_TRUE(replies[10'000].is_error());
        EXPECT_EQ(replies[10'001].integer(), 5'000);
        EXPECT_TRUE(c.call_all({}).empty());
    });
}

TEST_P(RedisClient, APipelineMayBeLargerThanAllBuffers) {
    const redis_server s;
    rt().run([&] {
        client c(s.at());
        const std::string value(100'000, 'y');
        const std::vector<command> sets(300, command{"SET", "large", value});
        for (const reply& r : c.call_all(sets)) EXPECT_EQ(r.text(), "OK");
        const std::vector<command> gets(300, command{"GET", "large"});
        std::size_t size = 0;
        for (const reply& r : c.call_all(gets)) size += r.text().size();
        EXPECT_EQ(size, 300U * 100'000U);
    });
}

TEST_P(RedisClient, ATransactionIsExecutedAsAWhole) {
    const redis_server s;
    rt().run([&] {
        client c(s.at());
        const std::vector<reply> r = c.transaction({{"SET", "a", 1}, {"INCR", "a"}, {"LPUSH", "a", "x"}, {"GET", "a"}});
        ASSERT_EQ(r.size(), 4U);
        EXPECT_EQ(r[1].integer(), 2);
        EXPECT_TRUE(r[2].is_error()) << "the others are executed all the same";
        EXPECT_EQ(r[3].text(), "2");
        EXPECT_THROW(c.transaction({{"SET", "a", 9}, {"NONSENSE"}}), redis::server_error);
        EXPECT_EQ(c.call<int>({"GET", "a"}), 2) << "nothing was executed";
    });
}

TEST_P(RedisClient, WatchedKeysMakeIncrementsAtomic) {
    const redis_server s;
    rt().run([&] {
        client c(s.at());
        std::atomic<int> repeated = 0;
        weft::wait_group all;
        for (int i = 0; i < 4; ++i) {
            all.go([&] {
                for (int done = 0; done < 25;) {
                    redis::session on = c.open();
                    on.watch({"n"});
                    const int n = on.call<std::optional<int>>({"GET", "n"}).value_or(0);
                    if (on.transaction({{"SET", "n", n + 1}})) {
                        ++done;
                    } else {
                        ++repeated;
                    }
                }
            });
        }
        all.wait();
        EXPECT_EQ(c.call<int>({"GET", "n"}), 100);
        EXPECT_LE(c.stats().connections, 4U) << "a session returns its connection";
    });
}

TEST_P(RedisClient, AConnectionWithAStateIsNotUsedAgain) {
    const redis_server s;
    rt().run([&] {
        client c(s.at());
        c.open().call({"SELECT", 3});
        EXPECT_EQ(c.stats().connections, 0U);
        c.open().watch({"key"});
        EXPECT_EQ(c.stats().connections, 0U);
        client other({.address = s.address(), .database = 3});
        other.call({"SET", "only", "here"});
        EXPECT_EQ(c.call<int>({"EXISTS", "only"}), 0);
    });
}

TEST_P(RedisClient, ManyCallersShareFewConnections) {
    const redis_server s;
    rt().run([&] {
        client c({.address = s.address(), .connections_max = 3});
        weft::wait_group all;
        std::atomic<int> wrong = 0;
        for (int i = 0; i < 200; ++i) {
            all.go([&, i] {
                const std::string key = "key" + std::to_string(i);
                for (int round = 0; round < 10; ++round) {
                    c.call({"SET", key, round});
                    if (c.call<int>({"GET", key}) != round) ++wrong;
                }
            });
        }
        all.wait();
        EXPECT_EQ(wrong, 0);
        EXPECT_EQ(c.stats().connections, 3U);
        EXPECT_EQ(c.stats().idle, 3U);
    });
}

TEST_P(RedisClient, LogsIn) {
    const redis_server s({"--save", "", "--requirepass", "secret", "--user", "reader", "on", ">pass", "~*", "+@all"});
    rt().run([&] {
        const auto login = [&](const std::string& user, const std::string& password, int database = 0) {
            return code_of([&] {
                client({.address = s.address(), .user = user, .password = password, .database = database}).call("PING");
            });
        };
        EXPECT_EQ(login("", "secret"), std::error_code());
        EXPECT_EQ(login("reader", "pass"), std::error_code());
        EXPECT_EQ(login("", "wrong"), redis::errc::login_refused);
        EXPECT_EQ(login("", "secret", 99), redis::errc::login_refused);
        EXPECT_THROW(client(s.at()).call("PING"), redis::server_error) << "NOAUTH";
        client named({.address = s.address(), .password = "secret", .name = "worker"});
        EXPECT_EQ(named.open().call<std::string>({"CLIENT", "GETNAME"}), "worker");
    });
}

}  // namespace
}  // namespace weft::test
