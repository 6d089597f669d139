// datagram_proxy.h: a bad network for UDP. It loses, duplicates, delays, reorders and damages
// datagrams.
//
// Clients send to port(). Each gets a socket of its own towards the server, so that the server can
// tell them apart. It runs on one plain thread with poll(), and uses nothing that it tests, as
// fault_proxy.h. Each datagram is held until it is due; unequal delays reorder them.
//
// The seed and the order of arrival decide what happens to which datagram.
//
// Threads: any, also green ones.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

namespace weft::test {

// Both directions. 0: never.
struct datagram_weather {
    int lose_one_in = 0;
    int double_one_in = 0;
    int damage_one_in = 0;  // one bit of its last byte
    std::chrono::microseconds delay{0};
    std::chrono::microseconds jitter{0};  // random extra delay, up to this
    uint64_t seed = 1;
};

class datagram_proxy {
public:
    struct books {
        int taken = 0;
        int lost = 0;
        int doubled = 0;
        int damaged = 0;
        int passed = 0;     // sent, duplicates included
        int overtaken = 0;  // of those: sent after a later arrival
    };

    // server: a port of this machine.
    datagram_proxy(uint16_t server, datagram_weather w);
    ~datagram_proxy();
    datagram_proxy(const datagram_proxy&) = delete;
    datagram_proxy& operator=(const datagram_proxy&) = delete;

    [[nodiscard]] uint16_t port() const noexcept;

    // Loses everything from now on; heal() returns to the plan.
    void partition();
    void heal();

    [[nodiscard]] books now() const;

private:
    class loop;

    std::unique_ptr<loop> loop_;
    std::thread thread_;
};

}  // namespace weft::test
