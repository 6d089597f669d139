// fault_proxy.h: a bad network between two who talk through a stream: TCP, or Unix sockets.
//
// It listens at an address of its own, connects to the real server for each client that comes, and passes bytes on in both directions: late,
// in crumbs, in lumps, slowly, with pauses, until it is made to reset the connection, to cut it, or to fall silent. A partition stops all
// connections at once, and heal() lets them go on.
//
//     fault_proxy proxy(fault_proxy::place_of(listener), [](int number) { return fault_plan{.down = {.piece = 1}}; });
//     … clients connect to proxy.at() …
//
// How it works. One plain thread, non-blocking sockets and poll(): nothing of what it tests is used by it. Each direction of a connection is a
// queue of pieces with the time at which each is due. What is held is bounded, and its sockets have small buffers: a writer whose reader is slow
// soon has to wait, as he would with a network that is full. All is done under one lock, which is not held while it polls; so when partition() has
// returned, no byte moves any more.
//
// What it decides by lot comes from the seed of the plan. Who connects first has number 0: tests that connect one after another know who gets
// what.
//
// Who: any thread, green ones too; no call waits for the network. The destructor ends all connections.
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

// What becomes of a connection as a whole, once enough has been passed on.
enum class fate : uint8_t {
    none,
    reset,  // both sides get a reset (over Unix sockets: find the other one gone), after what was passed on before has arrived
    cut,      // both sides read the end; what they still send is lost
    swallow,  // whatever is sent is taken and lost; nothing comes
    ignore,   // nothing is taken any more, and nothing comes
};

// What happens to one direction.
struct weather {
    static constexpr uint64_t never = UINT64_MAX;

    std::chrono::microseconds delay{0};   // everything is so late,
    std::chrono::microseconds jitter{0};  // and up to so much later, by lot; the order is kept
    std::chrono::microseconds tick{0};    // what comes is collected, and goes on at once at each multiple of that
    std::size_t piece = 64 * 1024;        // bytes that go on at a time, at most
    std::size_t rate = 0;                 // bytes each second; 0: as fast as it goes
    std::size_t stall_every = 0;          // after so many bytes, a pause; 0: never
    std::chrono::microseconds stall{0};

    uint64_t corrupt_at = never;  // one bit of this byte is another one
    uint64_t after = never;       // once so many bytes have gone on,
    fate then = fate::none;       // this happens to the connection
};

struct fault_plan {
    weather up;    // from who has connected to the server
    weather down;  // from the server
    uint64_t seed = 1;
};

class fault_proxy {
public:
    // A port of this machine, or an abstract name of a Unix socket.
    struct place {
        uint16_t port = 0;
        std::string name;  // without the @; empty: it is a port
    };

    // What has happened so far.
    struct books {
        int accepted = 0;
        int ended = 0;    // both sides had said that this was all
        int fated = 0;    // the fate of the plan has come about
        int broken = 0;   // one of the sides had gone before
        int refused = 0;  // nobody listened where it should have connected
        int open = 0;     // none of these yet
        uint64_t up = 0;  // bytes passed on
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

    // Where it listens.
    [[nodiscard]] const place& at() const noexcept;

    // From now on nothing moves, and nobody is accepted (the system lets them connect).
    void partition();
    void heal();

    // This happens now to all connections that are open. (To those that come later: what is planned for them.)
    void all_meet(fate f);

    [[nodiscard]] books now() const;

private:
    class loop;

    std::unique_ptr<loop> loop_;
    std::thread thread_;
};

}  // namespace weft::test
