// datagram_proxy.h: a bad network between those who send each other datagrams by UDP: it loses, doubles, delays, reorders and damages them.
//
// Clients send to port(); for each of them it has a socket of its own with which it talks to the server, so that the server knows them apart. One
// plain thread and poll(), as fault_proxy.h: nothing of what it tests is used by it. A datagram is held until it is due; one that is delayed by more
// is overtaken by others, which is how they are reordered.
//
// What it does to which datagram is decided by the seed and the order in which they come.
//
// Who: any thread, green ones too.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

namespace weft::test {

// Both directions. One in 0: none.
struct datagram_weather {
    int lose_one_in = 0;
    int double_one_in = 0;
    int damage_one_in = 0;  // one bit of its last byte
    std::chrono::microseconds delay{0};
    std::chrono::microseconds jitter{0};  // up to so much later, each by its own lot
    uint64_t seed = 1;
};

class datagram_proxy {
public:
    struct books {
        int taken = 0;
        int lost = 0;
        int doubled = 0;
        int damaged = 0;
        int passed = 0;     // sent on, doubles included
        int overtaken = 0;  // of those: after one that had come later
    };

    // server: a port of this machine.
    datagram_proxy(uint16_t server, datagram_weather w);
    ~datagram_proxy();
    datagram_proxy(const datagram_proxy&) = delete;
    datagram_proxy& operator=(const datagram_proxy&) = delete;

    [[nodiscard]] uint16_t port() const noexcept;

    // From now on all that comes is lost, or what is planned happens to it.
    void partition();
    void heal();

    [[nodiscard]] books now() const;

private:
    class loop;

    std::unique_ptr<loop> loop_;
    std::thread thread_;
};

}  // namespace weft::test
