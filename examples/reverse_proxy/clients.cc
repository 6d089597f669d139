#include "clients.h"

#include <mutex>

namespace reverse_proxy {

using guard = std::lock_guard<weft::mutex>;
using std::chrono::steady_clock;

bool clients::reserve() {
    const guard locked(lock_);
    if (places_taken_ == most_) return false;
    ++places_taken_;
    return true;
}

void clients::give_back() {
    const guard locked(lock_);
    --places_taken_;
    gone_.notify_all();
}

std::size_t clients::end_all(std::chrono::milliseconds grace) {
    const auto deadline = steady_clock::now() + grace;
    std::unique_lock<weft::mutex> locked(lock_);
    is_ending_ = true;
    for (entry* const e : entries_) {
        const guard entry_locked(e->lock_);
        e->is_ending_ = true;
        if (e->is_idle_) e->connection_.set_read_deadline(steady_clock::now());  // I1
    }
    gone_.wait_until(locked, deadline, [&] { return places_taken_ == 0; });
    const std::size_t cut_off = places_taken_;
    for (entry* const e : entries_) e->connection_.close();
    gone_.wait(locked, [&] { return places_taken_ == 0; });
    return cut_off;
}

clients::entry::entry(clients& among, weft::net::tcp_stream& connection) : among_(among), connection_(connection) {
    const guard locked(among_.lock_);
    is_ending_ = among_.is_ending_;
    among_.entries_.insert(this);
}

clients::entry::~entry() {
    const guard locked(among_.lock_);
    among_.entries_.erase(this);
}

bool clients::entry::begin_idle(std::chrono::milliseconds time) {
    const guard locked(lock_);
    if (is_ending_) return false;
    connection_.set_read_deadline(steady_clock::now() + time);
    is_idle_ = true;
    return true;
}

void clients::entry::end_idle() {
    const guard locked(lock_);
    is_idle_ = false;
}

bool clients::entry::is_last() {
    const guard locked(lock_);
    return is_ending_;
}

}  // namespace reverse_proxy
