// coordinator.h: sends the chunks of a tree to the broker, and merges their results.
//
// The result must be right whatever is killed when. The rule for that: the coordinator answers for
// every chunk until its result is merged, and everything in between may be done again.
//
//     1. It cuts a chunk, and keeps it. At most `window` chunks are kept.
//     2. The chunk is stored by the broker, with an id.
//     3. A worker counts it, stores the result with an id, and acknowledges the chunk.
//     4. The coordinator merges the result, unless it has merged one of that chunk, and forgets it.
//     5. If no result comes for twice ack_wait and a second, although workers are heard, the chunks
//        that are kept are sent again, under other ids. For a broker may lose some. After SIGKILL,
//        nats-server 2.9.10 sometimes has chunks in a work queue that it never delivers, because
//        it writes the state of a consumer later than that of the stream; and a machine without
//        power loses what was not yet on its disk.
//
// Rejected:
//   - Counters in the broker or in a database, to which workers add: adding twice is wrong. Only a
//     transaction over the counters and the acknowledgement would help; NATS has none.
//   - Only ids, without a merge by chunk: the broker forgets an id after its duplicate window, and
//     a worker that is stopped for longer stores its result again.
//   - Acknowledging before the result is stored: a worker that is killed then loses the chunk.
//   - A lock for the coordinator: one that is killed leaves it behind, and a lease is a guess. Two
//     coordinators on the same streams do no harm: each merges only results of its own chunks. The
//     first one to end removes the streams; the other one then fails, and says why.
//
// See: docs/cluster_wordcount.md
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <weft/chan.h>
#include <weft/condition_variable.h>
#include <weft/mutex.h>

#include "../wordcount/ways.h"
#include "broker.h"
#include "cutter.h"
#include "results.h"

namespace cluster_wordcount {

struct count_options {
    std::string root = "/usr/include";
    std::size_t chunk_size = std::size_t{128} * 1024;
    std::size_t window = 64;  // chunks that are kept
};

struct snapshot {
    std::uint64_t cut = 0;   // chunks
    std::uint64_t done = 0;  // of these, those that are merged, or have failed
    bool all_cut = false;
    std::uint64_t bytes = 0;  // of the results that are merged
    std::uint64_t redelivered = 0;
    std::size_t workers = 0;  // that were heard a moment ago
};

struct count_result {
    wordcount::result counted;
    std::vector<std::string> failures;  // chunks that no worker could count; empty: the result is complete
    snapshot end;
};

class coordinator {
public:
    coordinator(broker& with, count_options how);

    // Waits until so many workers are heard. Throws weft::timed_out.
    void wait_for_workers(std::size_t count, std::chrono::milliseconds patience);

    // Counts, and removes the streams. One call. Throws broker_error; weft::cancelled, after the
    // streams were removed if the broker is there.
    count_result run();

    // Any thread.
    [[nodiscard]] snapshot now();

private:
    struct kept_chunk {
        chunk what;
        unsigned attempt = 0;  // how often it was sent again
    };

    void count();
    void cut_all();
    void send_all();
    void keep(chunk c);
    void collect();
    void take(chunk_result r);
    void watch();
    void send_kept_again();
    void remove_streams_quickly();
    [[nodiscard]] std::size_t heard_workers();  // requires lock_
    [[nodiscard]] static std::string id_of(const kept_chunk& c);

    broker& broker_;
    const count_options how_;
    const nats::subscription alive_;
    const weft::chan<std::pair<std::string, std::string>> to_send_{0};  // ids and messages
    wordcount::census seen_;
    wordcount::text_totals own_totals_;  // of the cutter

    weft::mutex lock_;
    weft::condition_variable settled_;
    // Guarded by lock_.
    std::map<std::uint64_t, kept_chunk> kept_;
    std::map<std::uint64_t, std::string> failures_;  // by number
    results results_;
    std::uint64_t cut_ = 0;
    bool all_cut_ = false;
    std::chrono::steady_clock::time_point last_result_{};
    std::map<std::string, std::chrono::steady_clock::time_point> heard_;  // by worker
};

}  // namespace cluster_wordcount
