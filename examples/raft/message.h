// message.h: what nodes and clients send each other, and how it travels: each side of a stream
// sends one message and waits for one reply.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <weft/net/endpoint.h>
#include <weft/net/tcp.h>

namespace raft {

inline constexpr uint64_t no_node = ~uint64_t{0};

// Of the log. A new leader begins its term with an entry of client 0, which changes nothing.
struct entry {
    uint64_t term = 0, client = 0;
    uint64_t sequence = 0;  // counts the client's writes
    std::string key{}, value{};

    friend bool operator==(const entry&, const entry&) = default;

    void fields(auto& f) { f(term, client, sequence, key, value); }
};

enum class kind : uint8_t { vote, append, put, get, reply };

// One type for all of them, as in etcd's Raft; what a field means depends on the kind.
struct message {
    kind what = kind::reply;
    uint64_t term = 0;
    uint64_t node = no_node;       // candidate or leader
    uint64_t index = 0;            // of the last entry, or of the one before `entries`
    uint64_t index_term = 0;       // the term of that entry
    uint64_t committed = 0;        // append: up to that index
    uint64_t accepted = 0;         // reply: 1 or 0
    std::vector<entry> entries{};  // append: none in a heartbeat; put, get, and the reply to it: one

    void fields(auto& f) { f(what, term, node, index, index_term, committed, accepted, entries); }
};

// Both throw std::system_error; receive() also throws std::runtime_error, for the end of the stream
// and for bytes that are no message.
void send(weft::net::tcp_stream& to, message m);
[[nodiscard]] message receive(weft::net::tcp_stream& from);

// A connection to a node, made when it is needed. One green thread at a time.
class link {
public:
    explicit link(const weft::net::endpoint& node) : node_(node) {}

    // Sends m and returns the reply; nullopt if it does not arrive within limit. The next call then
    // uses a new connection, because the reply may still arrive on this one.
    [[nodiscard]] std::optional<message> call(const message& m, std::chrono::milliseconds limit);

private:
    weft::net::endpoint node_;
    weft::net::tcp_stream stream_;
};

}  // namespace raft
