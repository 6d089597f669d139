// connection.h: one connection to an echo server, and the requests that are under way on it.
//
// Each request has bytes of its own, which depend on the connection and on the number of the request; every byte of its echo
// is compared. So an echo that is lost, doubled, cut, or of another connection ends the process.
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

    // A request, to be sent after those before it, that should have been sent at that time.
    void add_request(int64_t due_ns) { due_.push_back(due_ns); }

    // Sends as much of what was added as the system takes. False: not all.
    [[nodiscard]] bool send();

    // Takes what has arrived. For each echo that is complete now: answered(when its request was due).
    template <typename Answered>
    void receive(Answered answered) {
        for (std::size_t whole = take_arrived(); whole != 0; --whole) {
            answered(due_.front());
            due_.pop_front();
        }
    }

    [[nodiscard]] std::size_t under_way() const { return due_.size(); }

private:
    // Receives once, compares, and returns how many echoes were completed by it.
    [[nodiscard]] std::size_t take_arrived();

    // The bytes of this connection's stream from `at` on, up to the end of the request that holds it.
    [[nodiscard]] std::span<const char> bytes_from(uint64_t at) const;

    int fd_ = -1;
    uint64_t number_;
    std::size_t payload_;
    uint64_t sent_ = 0;
    uint64_t received_ = 0;
    std::deque<int64_t> due_;  // of the requests that have no echo yet
};

}  // namespace bench::net
