// node.h: one node of a replicated log, with a table of keys and values on top: Ongaro and
// Ousterhout, "In Search of an Understandable Consensus Algorithm", 2014 (Raft).
//
// Each activity is a green thread, and reads as in the paper: one waits for the election timeout,
// one for each other node sends it what it lacks, and one serves each connection. They share the
// state under one lock, and wait for its changes with one condition variable.
//
// Reads are linearizable without entries in the log: before it answers, the leader makes sure that
// it still leads (section 8). A write that a client sends twice is done once. Left out: snapshots,
// so the log grows without end, and changes of the membership.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <weft/condition_variable.h>
#include <weft/mutex.h>
#include <weft/net/endpoint.h>
#include <weft/net/tcp.h>

#include "message.h"

namespace raft {

// What a node must not forget.
struct saved_state {
    uint64_t term = 0;
    uint64_t vote = no_node;          // the candidate that has this node's vote in that term
    std::vector<entry> log{entry{}};  // entry 0 has term 0, and is the same everywhere
};

// Both functions may block.
class storage {
public:
    virtual ~storage() = default;
    [[nodiscard]] virtual saved_state load() = 0;
    // All of s is safe when this returns; the node answers after that. The entries below index
    // `from` are those of the last call.
    virtual void save(const saved_state& s, std::size_t from) = 0;
};

// Rules of the algorithm. All must hold; a test breaks one at a time, to see that it notices.
struct rules {
    bool compares_logs = true;       // a vote is for a candidate whose log is not behind the voter's
    bool counts_own_term = true;     // an entry of an earlier term is committed by one of this term
    bool confirms_reads = true;      // a leader asks the others before it answers a read
    bool refuses_old_terms = true;   // a message of an earlier term's leader changes nothing
    bool recognizes_repeats = true;  // a write that a client has sent twice is done once
};

struct settings {
    std::size_t id = 0;                        // which of nodes this one is
    std::vector<weft::net::endpoint> nodes{};  // all of them
    std::function<uint32_t(uint32_t)> random_below{};
    std::chrono::milliseconds heartbeat{50};  // between two messages of a leader
    std::chrono::milliseconds election{200};  // without one, before an election; at most twice that
    std::size_t entries_at_once = 100;        // in one message
    // Called under the node's lock when it begins to lead, and for each committed entry.
    std::function<void(uint64_t term)> on_lead = [](uint64_t) {};
    std::function<void(std::size_t index, const entry&)> on_commit = [](std::size_t, const entry&) {};
    rules all{};
};

class node {
public:
    // disk: must outlive the node.
    node(settings how, storage& disk);

    // Serves until the caller is cancelled. All green threads of the node have ended then.
    void run(weft::net::tcp_listener listener);

private:
    using clock = std::chrono::steady_clock;
    using locked = std::unique_lock<weft::mutex>;

    enum class role : uint8_t { follower, candidate, leader };

    struct peer {
        link to;
        uint64_t asked_in = 0;    // the last term in which it has answered a request for its vote
        std::size_t next = 1;     // the index of the next entry for it
        std::size_t matches = 0;  // its log equals this one up to that index
        uint64_t round_sent = 0;  // the last round of reads that a request to it has confirmed,
        uint64_t round = 0;       // and that it has answered
        clock::time_point heartbeat_at{};
    };

    void hold_elections();
    void send_to(peer& p);
    void serve(weft::net::tcp_stream& from);

    message next_request(peer& p);
    void take_reply(peer& p, const message& asked, const message& got);
    message answer(const message& r);
    message answer_vote(const message& r);
    message answer_append(const message& r);
    message answer_put(entry e);
    message answer_get(const std::string& key);
    template <typename F>
    bool wait_while_leading(locked& held, F done);

    // The caller holds lock_.
    void see_term(uint64_t term);
    void vote_for(uint64_t candidate);
    void postpone_election();
    void lead();
    std::size_t append(entry e);
    void commit_what_a_majority_has();
    void commit_up_to(std::size_t index);

    [[nodiscard]] std::size_t majority() const { return how_.nodes.size() / 2 + 1; }

    [[nodiscard]] std::size_t last_index() const { return state_.log.size() - 1; }

    const settings how_;
    storage& disk_;
    std::vector<peer> peers_;
    weft::mutex lock_;
    weft::condition_variable changed_;
    // Guarded by lock_.
    saved_state state_;  // equal to what disk_ has, before anything that depends on it is sent
    role role_ = role::follower;
    uint64_t leader_ = no_node;
    std::size_t committed_ = 0;
    clock::time_point election_at_;
    std::size_t votes_ = 0;          // of a candidate
    std::size_t first_of_term_ = 0;  // of a leader: the index of its first entry
    uint64_t round_ = 0;             // counts reads
    std::map<std::string, std::string> values_;
    std::map<uint64_t, uint64_t> sequences_;  // of each client: its last write that was done
};

}  // namespace raft
