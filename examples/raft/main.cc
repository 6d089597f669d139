// main.cc: a replicated log: three nodes, one of which may fail.
//
// The nodes run in one process, connected by TCP. The program writes two values, kills the node
// that leads, and reads the values from the others. Then it restarts that node and kills the next
// leader, so that the restarted one is needed for a majority.
//
// test/sim/raft_test.cc tests the same nodes in a simulation, where hosts crash and messages are
// lost.
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <weft/weft.h>

#include "client.h"
#include "node.h"

namespace raft {

namespace {

using weft::net::endpoint;
using weft::net::tcp_listener;

// Survives the node, but not the process.
class memory final : public storage {
public:
    saved_state load() override { return state_; }

    void save(const saved_state& s, std::size_t /*from*/) override { state_ = s; }

private:
    saved_state state_;
};

void demonstrate() {
    constexpr std::size_t count = 3;
    std::vector<endpoint> nodes(count);
    std::vector<memory> disks(count);
    std::vector<weft::future<void>> running(count);
    const auto start = [&](std::size_t id, tcp_listener listener) {
        running[id] = weft::async([&, id, l = std::move(listener)]() mutable {
            const auto below = [random = std::mt19937(std::random_device{}())](uint32_t n) mutable {
                return random() % n;
            };
            node({.id = id, .nodes = nodes, .random_below = below}, disks[id]).run(std::move(l));
        });
    };
    const auto kill = [&](std::size_t id) {
        running[id].cancel();
        running[id].wait();
    };
    std::vector<tcp_listener> listeners(count);
    for (std::size_t id = 0; id < count; ++id) {
        listeners[id] = tcp_listener(endpoint::loopback(0));
        nodes[id] = listeners[id].local_endpoint();
    }
    for (std::size_t id = 0; id < count; ++id) start(id, std::move(listeners[id]));

    client c(nodes, 1, std::chrono::seconds(1));
    const auto print = [&] { std::printf("city: %s, river: %s\n", c.get("city").c_str(), c.get("river").c_str()); };
    c.put("city", "Lima");
    c.put("river", "Amazon");
    const std::size_t first = c.leader();
    std::printf("node %zu leads\n", first);
    kill(first);
    print();
    std::printf("it was killed, and node %zu leads\n", c.leader());
    c.put("city", "Quito");
    const std::size_t second = c.leader();
    start(first, tcp_listener(nodes[first]));
    kill(second);
    print();
    std::printf("node %zu was restarted and node %zu killed\n", first, second);
    for (std::size_t id = 0; id < count; ++id)
        if (id != second) kill(id);
}

}  // namespace

}  // namespace raft

int main() { return weft::main(raft::demonstrate); }
