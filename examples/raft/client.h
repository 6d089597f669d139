// client.h: reads and writes the keys of a cluster, whichever node leads.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <weft/net/endpoint.h>
#include <weft/time.h>

#include "message.h"

namespace raft {

// One green thread at a time.
class client {
public:
    // id: not 0, and no other client has it. limit: for the answer of one node.
    client(const std::vector<weft::net::endpoint>& nodes, uint64_t id, std::chrono::milliseconds limit)
        : nodes_(nodes.begin(), nodes.end()), id_(id), limit_(limit), leader_(id % nodes.size()) {}

    // Both try again until they succeed; weft::with_timeout sets a limit. A write that was
    // interrupted may happen later, but not after the next write of this client.
    void put(const std::string& key, const std::string& value) {
        ask({.what = kind::put, .entries = {{0, id_, ++sequence_, key, value}}});
    }

    [[nodiscard]] std::string get(const std::string& key) {
        return ask({.what = kind::get, .entries = {{.key = key}}});
    }

    // The node that has answered last.
    [[nodiscard]] std::size_t leader() const { return leader_; }

private:
    std::string ask(const message& m) {
        for (;; weft::sleep_for(limit_ / 20)) {
            const std::optional<message> reply = nodes_[leader_].call(m, limit_);
            if (reply && reply->accepted != 0) return reply->entries.at(0).value;
            leader_ = (reply && reply->node != no_node ? reply->node : leader_ + 1) % nodes_.size();
        }
    }

    std::vector<link> nodes_;
    const uint64_t id_;
    const std::chrono::milliseconds limit_;
    std::size_t leader_;
    uint64_t sequence_ = 0;
};

}  // namespace raft
