// served.h: a real NATS server, with JetStream, for the tests of weft::nats.
#pragma once

#include <csignal>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/nats/client.h>
#include <weft/weft.h>

#include "support/eventually.h"
#include "support/held_port.h"
#include "support/procs_test.h"
#include "support/server_process.h"
#include "support/temp_folder.h"

namespace weft::test {

using namespace std::chrono_literals;

// Stores its streams in a folder of its own.
class nats_server {
public:
    // ca_file is for clients, if the flags ask for TLS.
    explicit nats_server(std::vector<std::string> flags = {}, std::string ca_file = {})
        : flags_(std::move(flags)), ca_file_(std::move(ca_file)) {
        start();
    }

    // Does not wait until it answers.
    void start_process() {
        std::vector<std::string> command{"nats-server", "-a",  "127.0.0.1",   "-p", std::to_string(port_.port()),
                                         "-js",         "-sd", folder_.path()};
        command.insert(command.end(), flags_.begin(), flags_.end());
        process_.start(command, folder_ / "log");
    }

    // Returns when it answers.
    void start() {
        start_process();
        weft::runtime waiting;
        waiting.run([this] {
            eventually([this] {
                if (process_.has_ended()) throw std::runtime_error("nats-server has ended: see its log");
                try {
                    const nats::client c(at());
                    return true;
                } catch (const std::system_error& e) {
                    return e.code() == nats::errc::login_refused;
                }
            });
        });
    }

    void kill() { process_.end(SIGKILL); }

    // A server that is there, and does not answer.
    void stop() const { process_.stop(); }

    void go_on() const { process_.signal(SIGCONT); }

    [[nodiscard]] uint16_t port() const { return port_.port(); }

    [[nodiscard]] nats::client_options at() const {
        return {.servers = {"nats://127.0.0.1:" + std::to_string(port_.port())},
                .ca_file = ca_file_,
                .reconnect_wait = 20ms};
    }

private:
    const std::vector<std::string> flags_;
    const std::string ca_file_;
    temp_folder folder_;
    held_port port_;
    server_process process_;
};

template <typename F>
std::error_code code_of(F f) {
    try {
        f();
    } catch (const std::system_error& e) {
        return e.code();
    }
    return {};
}

// The tests of a server need its program.
class nats_test : public procs_test {
protected:
    void SetUp() override {
        if (!has_program("nats-server")) GTEST_SKIP() << "no nats-server; run: apt-get install nats-server";
    }
};

}  // namespace weft::test
