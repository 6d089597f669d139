// consumer.h: a consumer of a Redis stream, in a consumer group. Entries are delivered at least
// once.
//
//     redis::consumer jobs(c, {.stream = "jobs", .group = "workers", .name = "worker-1"});
//     for (;;) {
//         redis::entry job = jobs.next();
//         work(job);
//         jobs.ack(job);                 // not before the work is done
//     }
//
// The server remembers which entries a consumer was given and has not acknowledged (its pending
// entries). So no entry is lost:
//
//     the consumer ends, or its machine fails   another consumer of the group gets its pending
//                                               entries after idle_time (XAUTOCLAIM)
//     a reply is lost with its connection       the consumer reads its own pending entries after
//                                               the next connection
//     it restarts with the same name            the same
//
// An entry whose work takes longer than idle_time is given to another consumer too. Work must
// therefore be repeatable, or remember the identifiers of entries.
//
// See: docs/redis.md
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/detail/require.h>
#include <weft/redis/client.h>

namespace weft::redis {

/// An entry of a stream.
struct entry {
    std::string id = {};  ///< "1700000000000-0"
    std::vector<std::pair<std::string, std::string>> fields = {};
    uint64_t deliveries = 1;  ///< how often the server has delivered it, with this time; 0: not known

    /// The value of a field; empty without such a field.
    [[nodiscard]] std::string_view field(std::string_view name) const noexcept;
};

struct consumer_options {
    std::string stream = {};
    std::string group = {};   ///< is made if it does not exist
    std::string name = {};    ///< of this consumer, unique in the group
    std::string start = "0";  ///< where a new group begins: "0" with the oldest entry, "$" with the next one

    std::size_t batch = 16;                                            ///< entries that are fetched at once
    std::chrono::milliseconds idle_time = std::chrono::minutes(1);     ///< after which others get an entry
    std::chrono::milliseconds block_time = std::chrono::seconds(5);    ///< of one XREADGROUP
    std::chrono::nanoseconds down_time_max = std::chrono::minutes(1);  ///< without a server, before calls fail
};

/// A consumer. Movable. One green thread uses it at a time; for more, make more consumers with
/// names of their own. It has a connection of its own, which does not count for connections_max,
/// and keeps at most one batch of entries that next() has not returned yet.
class consumer {
public:
    /// Does not connect. Throws std::invalid_argument if a name is missing, a time is not positive,
    /// or block_time is not below reply_time of the client.
    consumer(const client& of, consumer_options how);

    consumer(consumer&&) noexcept;
    consumer& operator=(consumer&&) = delete;
    ~consumer();

    /// Returns the next entry, and waits until there is one. First those that were delivered before
    /// and not acknowledged. If the server is down it tries again, with pauses, for down_time_max,
    /// and then throws std::system_error. Throws server_error; weft::cancelled, weft::timed_out: no
    /// entry is lost then.
    [[nodiscard]] entry next();

    /// Acknowledges entries: they are not delivered again. If the connection is lost it is
    /// repeated, as next() is; when it throws, the entry may be delivered again. Returns how many
    /// of them were pending: 0 if another consumer has acknowledged it.
    std::size_t ack(const entry& e) { return ack_all({e.id}); }

    std::size_t ack_all(const std::vector<std::string>& ids);

private:
    template <typename F>
    auto persistently(F f);
    reply call(const command& c);
    void fetch();
    void make_group();
    std::size_t fetch_own();
    std::size_t fetch_abandoned();
    void fetch_new();
    std::size_t take(const reply& entries, bool again);
    void count_deliveries();

    client_options at_;
    consumer_options how_;
    std::unique_ptr<detail::connection> connection_;  // none: before the first call, and after a failure
    std::deque<entry> ready_;
    std::set<std::string, std::less<>> held_;  // delivered to this object, and neither acknowledged nor claimed again
    std::string own_from_ = "0";               // where to continue to read own pending entries; empty: all were read
    std::string claim_from_ = "0-0";
    std::chrono::steady_clock::time_point claim_at_{};
};

}  // namespace weft::redis
