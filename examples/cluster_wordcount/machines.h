// machines.h: what the demonstration runs on this machine: a folder, a broker and workers.
//
// Each ends what it has started, and removes what it has made, in its destructor, also if that runs
// because of an exception or a cancellation.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <weft/process.h>

namespace cluster_wordcount {

class temp_folder {
public:
    temp_folder();
    ~temp_folder();
    temp_folder(const temp_folder&) = delete;
    temp_folder& operator=(const temp_folder&) = delete;

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
};

// A port of 127.0.0.1 that no other program is given, also while the broker is down. A server can
// listen on it because it sets SO_REUSEADDR.
class held_port {
public:
    held_port();
    ~held_port();
    held_port(const held_port&) = delete;
    held_port& operator=(const held_port&) = delete;

    [[nodiscard]] std::uint16_t number() const noexcept { return number_; }

private:
    int fd_;
    std::uint16_t number_ = 0;
};

// nats-server with JetStream, which stores in the folder.
class broker_process {
public:
    // Returns when it answers. Throws broker_error with the end of its log.
    explicit broker_process(std::string folder);
    ~broker_process();
    broker_process(const broker_process&) = delete;
    broker_process& operator=(const broker_process&) = delete;

    // By SIGKILL.
    void kill();

    // Starts it again, with the same store.
    void start();

    [[nodiscard]] std::string url() const { return "nats://127.0.0.1:" + std::to_string(port_.number()); }

private:
    [[nodiscard]] std::string log() const { return folder_ + "/nats-server.log"; }

    std::string folder_;
    held_port port_;
    weft::process process_;
};

// Workers, each a process with one processor.
class worker_processes {
public:
    worker_processes(std::size_t count, const std::string& url, std::chrono::milliseconds ack_wait);
    ~worker_processes();
    worker_processes(const worker_processes&) = delete;
    worker_processes& operator=(const worker_processes&) = delete;

    // By SIGKILL; the first one.
    void kill_one();

private:
    std::vector<weft::process> processes_;
};

}  // namespace cluster_wordcount
