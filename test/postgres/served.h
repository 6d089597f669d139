// served.h: a real PostgreSQL server for the tests of weft::postgres.
#pragma once

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/postgres/client.h>
#include <weft/weft.h>

#include "support/eventually.h"
#include "support/held_port.h"
#include "support/procs_test.h"
#include "support/server_process.h"

namespace weft::test {

using namespace std::chrono_literals;

// The folder of initdb and postgres; empty without a server. Debian installs them outside of PATH.
inline std::string postgres_programs() {
    std::vector<std::string> found;
    std::error_code ec;
    for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", ec)) {
        const std::string folder = version.path().string() + "/bin";
        if (::access((folder + "/postgres").c_str(), X_OK) == 0) found.push_back(folder);
    }
    return found.empty() ? std::string() : *std::max_element(found.begin(), found.end());
}

// Held before the first test begins, which counts descriptors.
inline const held_port postgres_port;

// A cluster of its own, on a Unix socket and a port. Made once for the process: that takes a
// second.
class postgres_server {
public:
    static postgres_server& the_one() {
        static postgres_server one;
        return one;
    }

    postgres_server(const postgres_server&) = delete;
    postgres_server& operator=(const postgres_server&) = delete;

    ~postgres_server() {
        process_.end(SIGQUIT);
        std::error_code ec;
        std::filesystem::remove_all(folder_, ec);
    }

    // Returns when it answers.
    void start() {
        const std::string data = folder_ + "/data";
        for (;;) {
            process_.start({programs_ + "/postgres", "-D", data, "-k", folder_, "-c", "listen_addresses=127.0.0.1",
                            "-p", std::to_string(postgres_port.port()), "-c", "fsync=off", "-c", "shared_buffers=16MB",
                            "-c", "max_connections=60"},
                           folder_ + "/log", user_);
            if (answers()) return;  // otherwise processes of one that was killed are still there
        }
    }

    // As if it had crashed.
    void kill() { process_.end(SIGKILL); }

    [[nodiscard]] std::string conninfo(const std::string& more = {}) const {
        return "host=" + folder_ + " port=" + std::to_string(postgres_port.port()) + " user=owner dbname=postgres " +
               more;
    }

    // The port at 127.0.0.1.
    [[nodiscard]] uint16_t port() const { return postgres_port.port(); }

    // Writes a file that only the server's user may read. Returns its path.
    [[nodiscard]] std::string write_file(const std::string& name, const std::string& text) const {
        const std::string path = folder_ + "/" + name;
        std::ofstream(path) << text;
        const passwd* const as = user_.empty() ? nullptr : ::getpwnam(user_.c_str());
        if ((as != nullptr && ::chown(path.c_str(), as->pw_uid, as->pw_gid) != 0) || ::chmod(path.c_str(), 0600) != 0)
            throw std::system_error(errno, std::generic_category(), path);
        return path;
    }

    [[nodiscard]] postgres::client_options at() const { return {.conninfo = conninfo()}; }

private:
    postgres_server() : programs_(postgres_programs()), user_(::geteuid() == 0 ? "postgres" : "") {
        std::string name = (std::filesystem::temp_directory_path() / "weft_pg_XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), "mkdtemp");
        folder_ = name;
        if (const passwd* const as = user_.empty() ? nullptr : ::getpwnam(user_.c_str()))
            std::filesystem::exists(folder_) && ::chown(folder_.c_str(), as->pw_uid, as->pw_gid);
        process_.start({programs_ + "/initdb", "--no-sync", "--auth=trust", "--username=owner", "--encoding=UTF8",
                        "--locale=C", "-D", folder_ + "/data"},
                       folder_ + "/log", user_);
        if (process_.wait() != 0) throw std::runtime_error("initdb failed: see " + folder_ + "/log");
        start();
    }

    // Returns false if the process has ended instead.
    bool answers() {
        bool answers = false;
        weft::runtime waiting;
        waiting.run([&] {
            eventually([&] {
                if (process_.has_ended()) return true;
                try {
                    postgres::client(at()).query("SELECT 1");
                    answers = true;
                } catch (const std::system_error&) {}
                return answers;
            });
        });
        return answers;
    }

    const std::string programs_;
    const std::string user_;
    std::string folder_;
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

// The SQLSTATE of what f throws; empty if it throws nothing.
template <typename F>
std::string sqlstate_of(F f) {
    try {
        f();
    } catch (const postgres::server_error& e) {
        return e.sqlstate();
    }
    return {};
}

// The tests of a server need its program, and a user that is not root.
class postgres_test : public procs_test {
protected:
    void SetUp() override {
        if (postgres_programs().empty()) GTEST_SKIP() << "no PostgreSQL server; run: apt-get install postgresql";
        if (::geteuid() == 0 && ::getpwnam("postgres") == nullptr)
            GTEST_SKIP() << "the server does not run as root, and there is no user postgres";
        s = &postgres_server::the_one();
    }

    postgres_server* s = nullptr;
};

}  // namespace weft::test
