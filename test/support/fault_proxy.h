// fault_proxy.h: a bad network between two ends of a stream: TCP or Unix sockets.
//
// It listens at its own address, connects to the real server for each client, and passes bytes on
// both ways: late, in crumbs, in lumps, slowly, or with pauses. On request it resets or cuts the
// connection, or falls silent. A partition stops all connections at once, and heal() lets them
// continue.
//
//     fault_proxy proxy(fault_proxy::place_of(listener), [](int number) { return fault_plan{.down = {.piece = 1}}; });
//     … clients connect to proxy.at() …
//
// One plain thread with non-blocking sockets and poll() runs it, and uses nothing that it tests.
// Each direction is a queue of pieces with due times. Queues are bounded and sockets have small
// buffers, so the writer to a slow reader soon waits. One lock guards everything except poll(), so
// once partition() has returned, no byte moves.
//
// The plan's seed makes all random decisions. Connections are numbered from 0 in order of arrival,
// so tests can assign plans.
//
// Threads: any, also green ones. No call waits for the network. The destructor ends all
// connections.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <weft/net/tcp.h>
#include <weft/net/unix.h>

namespace weft::test {

// What happens to a whole connection once enough bytes were passed on.
enum class fate : uint8_t {
    none,
    reset,    // Both sides get a reset, after delivery of earlier bytes (Unix sockets: the peer is gone).
    cut,      // Both sides read the end; what they still send is lost.
    swallow,  // All input is accepted and lost; nothing arrives.
    ignore,   // No input is accepted; nothing arrives.
};

// What happens to one direction.
struct weather {
    static constexpr uint64_t never = UINT64_MAX;

    std::chrono::microseconds delay{0};   // Delay of all bytes.
    std::chrono::microseconds jitter{0};  // Random extra delay, up to this; keeps the order.
    std::chrono::microseconds tick{0};    // Bytes are collected, and passed on at each multiple of this.
    std::size_t piece = 64 * 1024;        // Most bytes passed on at a time.
    std::size_t rate = 0;                 // Bytes per second; 0: no limit.
    std::size_t stall_every = 0;          // A pause each time after this many bytes; 0: never.
    std::chrono::microseconds stall{0};

    uint64_t corrupt_at = never;  // One bit of this byte is flipped.
    uint64_t after = never;       // After this many bytes,
    fate then = fate::none;       // the connection meets this fate.
};

struct fault_plan {
    weather up;    // from the client to the server
    weather down;  // from the server
    uint64_t seed = 1;
};

class fault_proxy {
public:
    // A port of this machine, or a Unix socket's abstract name.
    struct place {
        uint16_t port = 0;
        std::string name;  // without the @; empty: use port
    };

    // Counts so far.
    struct books {
        int accepted = 0;
        int ended = 0;    // Both sides sent their end.
        int fated = 0;    // The planned fate has happened.
        int broken = 0;   // One side had gone before.
        int refused = 0;  // No server listened.
        int open = 0;     // None of these yet.
        uint64_t up = 0;  // Bytes passed on.
        uint64_t down = 0;
    };

    using plans = std::function<fault_plan(int number)>;

    fault_proxy(place server, plans plan);
    ~fault_proxy();
    fault_proxy(const fault_proxy&) = delete;
    fault_proxy& operator=(const fault_proxy&) = delete;

    [[nodiscard]] static place place_of(const net::tcp_listener& l) {
        return {.port = l.local_endpoint().port(), .name = {}};
    }

    [[nodiscard]] static place place_of(const net::unix_listener& l) {
        return {.port = 0, .name = std::string(l.local_address().name())};
    }

    // The address to connect to.
    [[nodiscard]] const place& at() const noexcept;

    // Stops all bytes, and accepts no connection (clients' connect() still succeeds).
    void partition();
    void heal();

    // Applies f to all open connections now. Later ones follow their plan.
    void all_meet(fate f);

    [[nodiscard]] books now() const;

private:
    class loop;

    std::unique_ptr<loop> loop_;
    std::thread thread_;
};

}  // namespace weft::test
