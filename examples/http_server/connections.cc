#include "connections.h"

#include <mutex>

namespace http_server {

using guard = std::lock_guard<weft::mutex>;

bool connections::reserve() {
    const guard locked(lock_);
    if (places_taken_ == most_) return false;
    ++places_taken_;
    return true;
}

void connections::give_back() {
    const guard locked(lock_);
    --places_taken_;
    gone_.notify_all();
}

std::size_t connections::end_all(std::chrono::milliseconds grace) {
    const auto deadline = std::chrono::steady_clock::now() + grace;
    std::unique_lock<weft::mutex> locked(lock_);
    is_ending_ = true;
    for (entry* const e : entries_) {
        const guard entry_locked(e->lock_);
        e->is_ending_ = true;
        if (e->is_idle_) e->client_.set_read_time({});  // I1
    }
    gone_.wait_until(locked, deadline, [&] { return places_taken_ == 0; });
    const std::size_t cut_off = places_taken_;
    for (entry* const e : entries_) e->client_.close();
    gone_.wait(locked, [&] { return places_taken_ == 0; });
    return cut_off;
}

connections::entry::entry(connections& among, transport& client) : among_(among), client_(client) {
    const guard locked(among_.lock_);
    is_ending_ = among_.is_ending_;
    among_.entries_.insert(this);
}

connections::entry::~entry() {
    const guard locked(among_.lock_);
    among_.entries_.erase(this);
}

bool connections::entry::begin_idle(std::chrono::milliseconds time) {
    const guard locked(lock_);
    if (is_ending_) return false;
    client_.set_read_time(time);
    is_idle_ = true;
    return true;
}

void connections::entry::end_idle() {
    const guard locked(lock_);
    is_idle_ = false;
}

bool connections::entry::is_last() {
    const guard locked(lock_);
    return is_ending_;
}

}  // namespace http_server
