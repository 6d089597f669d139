// served.h: a real Redis server for the tests of weft::redis.
#pragma once

#include <csignal>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/redis/client.h>
#include <weft/weft.h>

#include "support/eventually.h"
#include "support/held_port.h"
#include "support/procs_test.h"
#include "support/server_process.h"
#include "support/temp_folder.h"

namespace weft::test {

using namespace std::chrono_literals;

// A server on a port and on a Unix socket, with its files in a folder of its own.
class redis_server {
public:
    explicit redis_server(std::vector<std::string> flags = {"--save", "", "--appendonly", "no"})
        : flags_(std::move(flags)) {
        start();
    }

    // Returns when it answers.
    void start() {
        std::vector<std::string> command{
            "redis-server", "--bind",      "127.0.0.1", "--port",      std::to_string(port_.port()),
            "--unixsocket", folder_ / "s", "--dir",     folder_.path()};
        command.insert(command.end(), flags_.begin(), flags_.end());
        process_.start(command, folder_ / "log");
        weft::runtime waiting;
        waiting.run([this] {
            eventually([this] {
                if (process_.has_ended()) throw std::runtime_error("redis-server has ended: see its log");
                try {
                    redis::client(at()).call("PING");
                    return true;
                } catch (const redis::server_error& e) {
                    return e.code() == "NOAUTH";
                } catch (const std::system_error&) {
                    return false;
                }
            });
        });
    }

    void kill() { process_.end(SIGKILL); }

    // A server that is there, and does not answer.
    void stop() const { process_.stop(); }

    void go_on() const { process_.signal(SIGCONT); }

    [[nodiscard]] uint16_t port() const { return port_.port(); }

    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_.port()); }

    [[nodiscard]] std::string path() const { return folder_ / "s"; }

    [[nodiscard]] redis::client_options at() const { return {.address = address()}; }

private:
    const std::vector<std::string> flags_;
    temp_folder folder_;
    held_port port_;
    server_process process_;
};

// A server that writes to its disk before it answers: it loses nothing that it has acknowledged.
inline std::vector<std::string> durable() { return {"--save", "", "--appendonly", "yes", "--appendfsync", "always"}; }

// The error of f. A server that still reads its file after a restart counts as one that is down.
template <typename F>
std::error_code code_of(F f) {
    try {
        f();
    } catch (const std::system_error& e) {
        return e.code();
    } catch (const redis::server_error& e) {
        if (e.code() != "LOADING") throw;
        return redis::errc::could_not_connect;
    }
    return {};
}

// The tests of a server need its program.
class redis_test : public procs_test {
protected:
    void SetUp() override {
        if (!has_program("redis-server")) GTEST_SKIP() << "no redis-server; run: apt-get install redis-server";
    }
};

}  // namespace weft::test
