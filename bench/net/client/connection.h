// connection.h: one connection to an echo server, with its pending requests.
//
// A request's bytes depend on its connection and number, and every echoed byte is compared. So an
// echo that is lost, duplicated, cut, or from another connection ends the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>

namespace bench::net {

class connection {
public:
    // Connects, and waits for it. address: see options.h.
    connection(const std::string& address, uint64_t number, std::size_t payload);
    connection(connection&& other) noexcept;
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    connection& operator=(connection&&) = delete;
    ~connection();

    [[nodiscard]] int fd() const { return fd_; }

    // Queues a request that was due at that time.
    void add_request(int64_t due_ns) { due_.push_back(due_ns); }

    // Sends as much of the queued data as the system takes. False: not all.
    [[nodiscard]] bool send();

    // Receives what has arrived. Calls answered(due time of the request) for each echo that is now
    // complete.
    template <typename Answered>
    void receive(Answered answered) {
        for (std::size_t whole = take_arrived(); whole != 0; --whole) {
            answered(due_.front());
            due_.pop_front();
        }
    }

    [[nodiscard]] std::size_t under_way() const { return due_.size(); }

private:
    // Receives once, compares, and returns the number of echoes completed.
    [[nodiscard]] std::size_t take_arrived();

    // This connection's stream from `at` to the end of that request.
    [[nodiscard]] std::span<const char> bytes_from(uint64_t at) const;

    int fd_ = -1;
    uint64_t number_;
    std::size_t payload_;
    uint64_t sent_ = 0;
    uint64_t received_ = 0;
    std::deque<int64_t> due_;  // of the requests without an echo
};

}  // namespace bench::net
