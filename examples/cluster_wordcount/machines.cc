#include "machines.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include <weft/cancel.h>
#include <weft/nats/client.h>
#include <weft/time.h>

#include "broker.h"

namespace cluster_wordcount {

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

// In a process group of its own: Ctrl-C on the terminal reaches only this program, which then ends
// the others.
weft::process started(const std::vector<std::string>& command,
                      std::optional<std::vector<std::string>> environment = {}) {
    return weft::process(command, {.in = weft::stdio::null,
                                   .out = weft::stdio::null,
                                   .environment = std::move(environment),
                                   .group = weft::process_group::own});
}

void end(weft::process& p) {
    if (p.pid() == 0) return;
    weft::shield([&p] {
        std::error_code ignored;
        p.kill(SIGKILL, ignored);
        p.wait(ignored);
    });
}

std::string last_line(const std::string& file) {
    std::ifstream in(file);
    std::string last;
    for (std::string line; std::getline(in, line);) last = line;
    return last;
}

std::vector<std::string> environment_with(const std::string& name, const std::string& value) {
    std::vector<std::string> all;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        if (!std::string_view(*variable).starts_with(name + "=")) all.emplace_back(*variable);
    }
    all.push_back(name + "=" + value);
    return all;
}

}  // namespace

// ---- temp_folder.

temp_folder::temp_folder() : path_(std::filesystem::temp_directory_path() / "cluster_wordcount_XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) throw std::system_error(errno, std::generic_category(), "mkdtemp " + path_);
}

temp_folder::~temp_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

// ---- held_port.

held_port::held_port() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&at);
    socklen_t size = sizeof at;
    if (fd_ < 0 || setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 || bind(fd_, any, size) != 0 ||
        getsockname(fd_, any, &size) != 0)
        throw std::system_error(errno, std::generic_category(), "a port of 127.0.0.1 for the broker");
    number_ = ntohs(at.sin_port);
}

held_port::~held_port() { close(fd_); }

// ---- broker_process.

broker_process::broker_process(std::string folder) : folder_(std::move(folder)) { start(); }

broker_process::~broker_process() { end(process_); }

void broker_process::kill() { end(process_); }

void broker_process::start() {
    constexpr auto patience = 20s;
    try {
        process_ = started({"nats-server", "-a", "127.0.0.1", "-p", std::to_string(port_.number()), "-js", "-sd",
                            folder_, "-l", log()});
    } catch (const std::system_error& e) {
        throw broker_error(std::string("cannot start nats-server: ") + e.code().message() +
                           "; run: apt-get install nats-server");
    }
    try {
        for (const auto until = steady_clock::now() + patience;; weft::sleep_for(10ms)) {
            if (process_.wait_for(0s)) throw broker_error("nats-server has ended: " + last_line(log()));
            try {
                const nats::client c({.servers = {url()}});
                return;
            } catch (const std::system_error& e) {
                if (steady_clock::now() > until) throw broker_error("nats-server does not answer: " + last_line(log()));
            }
        }
    } catch (...) {
        end(process_);
        throw;
    }
}

// ---- worker_processes.

worker_processes::worker_processes(std::size_t count, const std::string& url, std::chrono::milliseconds ack_wait) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    const std::string seconds = std::to_string(static_cast<double>(ack_wait.count()) / 1000);
    try {
        for (std::size_t i = 0; i < count; ++i) {
            processes_.push_back(started({self, "--server=" + url, "--ack-wait=" + seconds, "worker"},
                                         environment_with("RUN_MAXPROCS", "1")));
        }
    } catch (...) {
        for (weft::process& p : processes_) end(p);
        throw;
    }
}

worker_processes::~worker_processes() {
    for (weft::process& p : processes_) end(p);
}

void worker_processes::kill_one() { end(processes_.front()); }

}  // namespace cluster_wordcount
