#include "node.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>

#include <weft/scope.h>
#include <weft/time.h>

namespace raft {

node::node(settings how, storage& disk) : how_(std::move(how)), disk_(disk), state_(disk.load()) {
    for (std::size_t i = 0; i < how_.nodes.size(); ++i)
        if (i != how_.id) peers_.push_back({link(how_.nodes[i])});
    postpone_election();
}

void node::run(weft::net::tcp_listener listener) {
    weft::scope([&](weft::task_scope& s) {
        s.go([this] { hold_elections(); });
        for (peer& p : peers_) s.go([this, &p] { send_to(p); });
        for (;;) s.go([this, from = listener.accept()]() mutable { serve(from); });
    });
}

void node::hold_elections() {
    locked held(lock_);
    for (;;) {
        while (role_ == role::leader) changed_.wait(held);
        if (clock::now() < election_at_) {  // which moves with each message of a leader
            static_cast<void>(changed_.wait_until(held, election_at_));
            continue;
        }
        postpone_election();
        see_term(state_.term + 1);
        vote_for(how_.id);
        role_ = role::candidate;
        votes_ = 1;
        if (votes_ == majority()) lead();
    }
}

void node::send_to(peer& p) {
    for (;;) {
        const message asked = next_request(p);
        if (const std::optional<message> got = p.to.call(asked, how_.election)) {
            take_reply(p, asked, *got);
        } else {
            weft::sleep_for(how_.heartbeat);
        }
    }
}

void node::serve(weft::net::tcp_stream& from) {
    try {
        for (;;) send(from, answer(receive(from)));
    } catch (const std::exception&) {}  // the peer has gone
}

// Waits until there is something to ask p.
message node::next_request(peer& p) {
    locked held(lock_);
    for (;;) {
        const clock::time_point now = clock::now();
        if (role_ == role::candidate && p.asked_in < state_.term)
            return {kind::vote, state_.term, how_.id, last_index(), state_.log.back().term};
        if (role_ != role::leader) {
            changed_.wait(held);
        } else if (p.next > last_index() && p.round_sent == round_ && now < p.heartbeat_at) {
            static_cast<void>(changed_.wait_until(held, p.heartbeat_at));
        } else {
            p.heartbeat_at = now + how_.heartbeat;
            p.round_sent = round_;
            message r{kind::append, state_.term, how_.id, p.next - 1, state_.log[p.next - 1].term, committed_};
            const auto rest = std::span(state_.log).subspan(p.next);
            const auto some = rest.first(std::min(rest.size(), how_.entries_at_once));
            r.entries.assign(some.begin(), some.end());
            return r;
        }
    }
}

void node::take_reply(peer& p, const message& asked, const message& got) {
    const locked held(lock_);
    see_term(got.term);
    if (asked.what == kind::vote) {
        p.asked_in = asked.term;
        if (role_ != role::candidate || asked.term != state_.term || got.accepted == 0) return;
        if (++votes_ == majority()) lead();
        return;
    }
    if (role_ != role::leader || asked.term != state_.term) return;
    p.round = p.round_sent;
    if (got.accepted != 0) {
        p.matches = got.index;
        p.next = p.matches + 1;
        commit_what_a_majority_has();
    } else {
        p.next = std::max<std::size_t>(1, std::min(got.index, asked.index));
    }
    changed_.notify_all();
}

message node::answer(const message& r) {
    if (r.what == kind::vote) return answer_vote(r);
    if (r.what == kind::append) return answer_append(r);
    if (r.what == kind::put) return answer_put(r.entries.at(0));
    if (r.what == kind::get) return answer_get(r.entries.at(0).key);
    throw std::runtime_error("this is no request");
}

message node::answer_vote(const message& r) {
    const locked held(lock_);
    see_term(r.term);
    const bool may = r.term == state_.term && (state_.vote == no_node || state_.vote == r.node);
    const bool is_behind = std::tuple(r.index_term, r.index) < std::tuple(state_.log.back().term, last_index());
    if (!may || (is_behind && how_.all.compares_logs)) return {.term = state_.term};
    vote_for(r.node);
    postpone_election();
    return {.term = state_.term, .accepted = 1};
}

message node::answer_append(const message& r) {
    const locked held(lock_);
    if (r.term < state_.term && how_.all.refuses_old_terms) return {.term = state_.term};
    see_term(r.term);
    role_ = role::follower;
    leader_ = r.node;
    postpone_election();
    if (r.index > last_index() || state_.log[r.index].term != r.index_term)
        return {.term = state_.term, .index = std::min<uint64_t>(r.index, state_.log.size())};
    const uint64_t same = r.index + r.entries.size();
    for (uint64_t i = r.index + 1; i <= same; ++i) {
        const auto rest = std::span(r.entries).subspan(i - r.index - 1);
        if (i <= last_index() && state_.log[i].term == rest.front().term) continue;
        state_.log.resize(i);
        state_.log.insert(state_.log.end(), rest.begin(), rest.end());
        disk_.save(state_, i);
        break;
    }
    commit_up_to(std::min(r.committed, same));
    return {.term = state_.term, .index = same, .accepted = 1};
}

message node::answer_put(entry e) {
    locked held(lock_);
    if (role_ != role::leader) return {.node = leader_};
    e.term = state_.term;
    const std::size_t index = append(std::move(e));
    const bool done = wait_while_leading(held, [&] { return committed_ >= index; });
    return {.node = leader_, .accepted = done, .entries = {{}}};
}

// What is committed when the read begins is in the answer. The leader learns it with its first
// entry, and knows that it still leads when a majority has answered.
message node::answer_get(const std::string& key) {
    locked held(lock_);
    if (role_ != role::leader) return {.node = leader_};
    const uint64_t round = ++round_;
    changed_.notify_all();
    const bool leads = wait_while_leading(held, [&] {
        const auto have = 1 + std::ranges::count_if(peers_, [&](const peer& p) { return p.round >= round; });
        const bool is_confirmed = static_cast<std::size_t>(have) >= majority() || !how_.all.confirms_reads;
        return committed_ >= first_of_term_ && is_confirmed;
    });
    return {.node = leader_, .accepted = leads, .entries = {{.value = values_[key]}}};
}

// Waits until done(); returns false if this node no longer leads, or cannot reach the others.
template <typename F>
bool node::wait_while_leading(locked& held, F done) {
    const uint64_t term = state_.term;
    const auto leads = [&] { return role_ == role::leader && state_.term == term; };
    static_cast<void>(changed_.wait_for(held, 2 * how_.election, [&] { return !leads() || done(); }));
    return leads() && done();
}

// A later term makes this node a follower in it.
void node::see_term(uint64_t term) {
    if (term <= state_.term) return;
    state_.term = term;
    vote_for(no_node);
    role_ = role::follower;
    leader_ = no_node;
    changed_.notify_all();
}

void node::vote_for(uint64_t candidate) {
    state_.vote = candidate;
    disk_.save(state_, state_.log.size());
}

void node::postpone_election() {
    const auto span = static_cast<uint32_t>(how_.election.count());
    election_at_ = clock::now() + std::chrono::milliseconds(span + how_.random_below(span));
}

void node::lead() {
    role_ = role::leader;
    leader_ = how_.id;
    how_.on_lead(state_.term);
    first_of_term_ = last_index() + 1;
    for (peer& p : peers_) {
        p.next = first_of_term_;
        p.matches = 0;
    }
    append({.term = state_.term});
}

// Returns the index of e.
std::size_t node::append(entry e) {
    state_.log.push_back(std::move(e));
    disk_.save(state_, last_index());
    commit_what_a_majority_has();
    changed_.notify_all();
    return last_index();
}

void node::commit_what_a_majority_has() {
    std::vector<std::size_t> has{last_index()};
    for (const peer& p : peers_) has.push_back(p.matches);
    std::ranges::sort(has, std::greater());
    const std::size_t index = has[majority() - 1];
    if (state_.log[index].term == state_.term || !how_.all.counts_own_term) commit_up_to(index);
}

void node::commit_up_to(std::size_t index) {
    while (committed_ < index) {
        const entry& e = state_.log[++committed_];
        how_.on_commit(committed_, e);
        uint64_t& last = sequences_[e.client];
        if (e.client == 0 || (e.sequence <= last && how_.all.recognizes_repeats)) continue;
        last = e.sequence;
        values_[e.key] = e.value;
    }
}

}  // namespace raft
