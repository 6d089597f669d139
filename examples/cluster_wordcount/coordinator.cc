#include "coordinator.h"

#include <mutex>
#include <utility>

#include <weft/cancel.h>
#include <weft/scope.h>
#include <weft/time.h>

#include "../wordcount/tree.h"
#include "terminal.h"

namespace cluster_wordcount {

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr int senders = 4;      // each waits until the broker has stored its chunk
constexpr auto alive_for = 1s;  // after a worker was heard
constexpr auto watch_every = 500ms;
constexpr auto warn_after = 5s;    // without a worker
constexpr auto goodbye_time = 2s;  // for the removal of the streams, if the user ends the program

}  // namespace

coordinator::coordinator(broker& with, count_options how)
    : broker_(with), how_(std::move(how)), alive_(with.alive_workers()) {}

count_result coordinator::run() {
    try {
        broker_.make_streams();
        last_result_ = steady_clock::now();
        count();
        broker_.remove_streams();
    } catch (const weft::cancelled&) {
        remove_streams_quickly();
        throw;
    }
    count_result r;
    r.end = now();
    r.counted.seen = std::move(seen_);
    r.counted.text = results_.totals();
    r.counted.text.add(own_totals_);
    r.counted.words.push_back(std::move(results_.words()));
    for (auto& [number, why] : failures_) r.failures.push_back(std::move(why));
    return r;
}

void coordinator::count() {
    weft::scope([this](weft::task_scope& s) {
        s.go([this] { collect(); });
        s.go([this] { watch(); });
        for (int i = 0; i < senders; ++i) s.go([this] { send_all(); });
        cut_all();
        std::unique_lock<weft::mutex> locked(lock_);
        all_cut_ = true;
        settled_.wait(locked, [this] { return kept_.empty(); });
        s.cancel();
    });
}

// ---- Chunks.

void coordinator::send_all() {
    while (const auto next = to_send_.recv()) broker_.send_chunk(next->second, next->first);
}

void coordinator::cut_all() {
    cutter cut(how_.chunk_size, [this](chunk c) { keep(std::move(c)); });
    std::vector<char> buffer(wordcount::block_size);
    wordcount::walk(how_.root, seen_, [&](const std::string& path) {
        wordcount::input_file file(path, seen_);
        while (const std::size_t size = file.read(buffer.data(), buffer.size())) cut.feed(path, {buffer.data(), size});
        cut.end_file();
    });
    cut.finish();
    own_totals_ = cut.own_totals();
}

// Waits for a place in the window.
void coordinator::keep(chunk c) {
    std::string message = c.message;
    std::string id;
    {
        std::unique_lock<weft::mutex> locked(lock_);
        settled_.wait(locked, [this] { return kept_.size() < how_.window; });
        ++cut_;
        if (!results_.expect(c.name)) return;
        const auto number = c.name.first;
        id = id_of(kept_.emplace(number, kept_chunk{std::move(c)}).first->second);
    }
    to_send_.send({std::move(id), std::move(message)});
}

std::string coordinator::id_of(const kept_chunk& c) {
    const auto [number, digest] = c.what.name;
    return std::to_string(number) + "-" + std::to_string(digest) + "-" + std::to_string(c.attempt);
}

// ---- Results.

void coordinator::collect() {
    nats::pull_consumer all = broker_.all_results();
    try {
        for (;;) {
            const nats::delivery d = all.next();
            try {
                take(read_result(d.data()));
            } catch (const malformed& e) {
                complain(broker_.options().owner + ": a message of the stream is no result: " + e.what());
            }
            all.ack_no_wait(d);
        }
    } catch (const nats::jetstream_error&) {
        throw streams_gone("the streams of \"" + broker_.options().stream +
                           "\" were removed before the end: another coordinator has ended, or the broker has lost its "
                           "store; start this one again");
    }
}

void coordinator::take(chunk_result r) {
    const std::lock_guard<weft::mutex> locked(lock_);
    last_result_ = steady_clock::now();
    const std::uint64_t number = r.of.first;
    const std::string failure = r.failure;
    const results::answer answer = results_.take(std::move(r));
    if (answer == results::answer::ignored) return;
    if (answer == results::answer::merged) failures_.erase(number);
    const auto kept = kept_.find(number);
    if (kept == kept_.end()) return;  // a second report of a failure
    if (answer == results::answer::failed) {
        failures_[number] = "chunk " + std::to_string(number) + " (" + kept->second.what.where + ", " +
                            std::to_string(kept->second.what.bytes) + " bytes): " + failure;
    }
    kept_.erase(kept);
    settled_.notify_all();
}

// ---- The watch.

void coordinator::watch() {
    const auto silence_max = 2 * broker_.options().ack_wait + 1s;
    auto heard = steady_clock::now();
    bool warned = false;
    for (;; weft::sleep_for(watch_every)) {
        broker_.check();
        bool is_silent = false;
        bool has_workers = false;
        {
            const std::lock_guard<weft::mutex> locked(lock_);
            has_workers = heard_workers() != 0;
            if (kept_.empty() || !has_workers) last_result_ = steady_clock::now();
            is_silent = steady_clock::now() - last_result_ > silence_max;
        }
        if (has_workers) {
            heard = steady_clock::now();
            warned = false;
        } else if (!warned && steady_clock::now() - heard > warn_after) {
            warned = true;
            complain(broker_.options().owner + ": no worker is heard; start some: cluster_wordcount worker");
        }
        if (is_silent) send_kept_again();
    }
}

void coordinator::send_kept_again() {
    std::vector<std::pair<std::string, std::string>> again;  // id and message
    {
        const std::lock_guard<weft::mutex> locked(lock_);
        for (auto& [number, c] : kept_) {
            ++c.attempt;
            again.emplace_back(id_of(c), c.what.message);
        }
        last_result_ = steady_clock::now();
    }
    complain(broker_.options().owner + ": no result comes; " + std::to_string(again.size()) + " chunks are sent again");
    for (const auto& [id, message] : again) broker_.send_chunk(message, id);
}

std::size_t coordinator::heard_workers() {
    const auto now = steady_clock::now();
    while (auto m = alive_.messages().try_recv().value) heard_[m->data] = now;
    std::erase_if(heard_, [now](const auto& h) { return now - h.second > alive_for; });
    return heard_.size();
}

void coordinator::wait_for_workers(std::size_t count, std::chrono::milliseconds patience) {
    weft::with_timeout(patience, [&] {
        while (now().workers < count) weft::sleep_for(5ms);
    });
}

snapshot coordinator::now() {
    const std::lock_guard<weft::mutex> locked(lock_);
    return {.cut = cut_,
            .done = cut_ - kept_.size(),
            .all_cut = all_cut_,
            .bytes = results_.totals().bytes,
            .redelivered = results_.redelivered(),
            .workers = heard_workers()};
}

void coordinator::remove_streams_quickly() {
    try {
        weft::shield([this] { weft::with_timeout(goodbye_time, [this] { broker_.remove_streams(); }); });
    } catch (const weft::timed_out&) {
        return;  // they stay
    } catch (const std::exception&) {
        return;
    }
}

}  // namespace cluster_wordcount
