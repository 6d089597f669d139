#include "visitors.h"

#include <mutex>

#include <weft/wait_group.h>

namespace websocket_chat {

using guard = std::lock_guard<weft::mutex>;

constexpr uint16_t going_away = 1001;

bool visitors::reserve() {
    const guard locked(lock_);
    if (places_taken_ == most_) return false;
    ++places_taken_;
    return true;
}

void visitors::give_back() {
    const guard locked(lock_);
    --places_taken_;
    gone_.notify_all();
}

bool visitors::add(wire& w) {
    const guard locked(lock_);
    if (!is_ending_) wires_.insert(&w);
    return !is_ending_;
}

void visitors::remove(wire& w) {
    const guard locked(lock_);
    wires_.erase(&w);
}

void visitors::end_all(std::chrono::milliseconds close_time) {
    std::unique_lock<weft::mutex> locked(lock_);
    is_ending_ = true;
    // Sends to all clients at the same time, because some may not be reading. The lock keeps the
    // wires alive.
    weft::wait_group saying;
    for (wire* const w : wires_) saying.go([w] { w->say_goodbye(going_away, "the server is shutting down"); });
    saying.wait();
    const auto deadline = std::chrono::steady_clock::now() + close_time;
    gone_.wait_until(locked, deadline, [&] { return places_taken_ == 0; });
    for (wire* const w : wires_) w->socket().close();
    gone_.wait(locked, [&] { return places_taken_ == 0; });
}

}  // namespace websocket_chat
