// 53_redis.cc: a Redis client: commands, a pipeline, a transaction, messages, and a queue of jobs.
//
// needs: weft::redis redis::server
//
// It asks a server of its own.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <weft/process.h>
#include <weft/redis/client.h>
#include <weft/redis/consumer.h>
#include <weft/redis/subscription.h>
#include <weft/weft.h>

namespace {

using namespace std::chrono_literals;
namespace redis = weft::redis;

void commands(redis::client& c) {
    c.call({"SET", "greeting", "hello"});
    const auto greeting = c.call<std::string>({"GET", "greeting"});
    const auto nothing = c.call<std::optional<std::string>>({"GET", "nothing"});
    const int visits = c.call<int>({"INCR", "visits"});
    std::printf("%s, %s, visit %d\n", greeting.c_str(), nothing ? "a value" : "no value", visits);

    const std::vector<redis::reply> all = c.call_all({{"RPUSH", "list", "a", "b"}, {"LLEN", "list"}, {"INCR", "list"}});
    std::printf("a pipeline: %s, %s, %s\n", all[0].to_string().c_str(), all[1].to_string().c_str(),
                all[2].is_error() ? "an error" : "no error");
}

// Moves an amount if there is enough, however many others do the same.
bool pay(redis::client& c, int amount) {
    for (;;) {
        redis::session on = c.open();
        on.watch({"from"});
        if (on.call<std::optional<int>>({"GET", "from"}).value_or(0) < amount) return false;
        if (on.transaction({{"DECRBY", "from", amount}, {"INCRBY", "to", amount}})) return true;
    }
}

void payments(redis::client& c) {
    c.call({"SET", "from", 10});
    int paid = 0;
    weft::mutex lock;
    weft::scope([&](weft::task_scope& s) {
        for (int i = 0; i < 20; ++i) {
            s.go([&] {
                if (!pay(c, 2)) return;
                const std::lock_guard<weft::mutex> locked(lock);
                ++paid;
            });
        }
    });
    std::printf("%d of 20 were paid, %d is left\n", paid, c.call<int>({"GET", "from"}));
}

void messages(redis::client& c) {
    const redis::subscription news(c, {.channels = {"news"}});
    for (redis::event&& e : news.events()) {
        if (e.what == redis::event::kind::subscribed) c.call({"PUBLISH", "news", "it rains"});
        if (e.what == redis::event::kind::message) {
            std::printf("news: %s\n", e.text.c_str());
            return;
        }
    }
}

// The first worker fails with the job in its hands; the second one gets it.
void jobs(redis::client& c) {
    c.call({"XADD", "jobs", "*", "task", "send the letters"});
    {
        redis::consumer first(c, {.stream = "jobs", .group = "workers", .name = "first"});
        static_cast<void>(first.next());
    }
    redis::consumer second(c, {.stream = "jobs", .group = "workers", .name = "second", .idle_time = 50ms});
    const redis::entry job = second.next();
    std::printf("job: %s, delivery %d\n", std::string(job.field("task")).c_str(), static_cast<int>(job.deliveries));
    second.ack(job);
}

void failures(redis::client& c, weft::process& server) {
    try {
        weft::with_timeout(20ms, [&] { c.call({"BLPOP", "empty", 0}); });
    } catch (const weft::timed_out&) {
        std::puts("the deadline around the caller has passed");
    }
    server.kill(SIGKILL);
    server.wait();
    try {
        c.call("PING");
    } catch (const std::system_error& e) {
        std::printf("killed: %s\n", e.code().message().c_str());
    }
}

void wait_for_server(redis::client& c) {
    for (;;) {
        try {
            c.call("PING");
            return;
        } catch (const std::system_error&) {
            weft::sleep_for(5ms);
        }
    }
}

}  // namespace

int main() {
    return weft::main([] {
        const std::string folder = std::filesystem::temp_directory_path() / ("weft_redis_" + std::to_string(getpid()));
        std::filesystem::create_directory(folder);
        weft::process server(
            {"redis-server", "--port", "0", "--unixsocket", folder + "/socket", "--dir", folder, "--save", ""},
            {.out = weft::stdio::null});
        redis::client c({.address = folder + "/socket"});
        wait_for_server(c);
        commands(c);
        payments(c);
        messages(c);
        jobs(c);
        failures(c, server);
        std::filesystem::remove_all(folder);
        return 0;
    });
}
