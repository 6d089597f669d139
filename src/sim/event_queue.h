// event_queue.h: what happens at a time of a simulation, without a green thread.
//
// Events of the same time happen in the order in which they were added.
//
// Threads: one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <weft/detail/wait.h>

namespace weft::sim {

class event_queue {
public:
    using action = std::function<void()>;

    void clear() noexcept {
        heap_.clear();
        added_ = 0;
    }

    void add(int64_t due_ns, action what) {
        heap_.push_back({due_ns, added_++, std::move(what)});
        std::push_heap(heap_.begin(), heap_.end(), later);
    }

    // weft::detail::never: nothing will happen.
    [[nodiscard]] int64_t next_ns() const noexcept {
        return heap_.empty() ? weft::detail::never : heap_.front().due_ns;
    }

    // Does what is due. It may add events, which happen, too, if they are due.
    void run_due(int64_t now_ns) {
        while (next_ns() <= now_ns) {
            std::pop_heap(heap_.begin(), heap_.end(), later);
            const action what = std::move(heap_.back().what);
            heap_.pop_back();
            what();
        }
    }

private:
    struct event {
        int64_t due_ns;
        uint64_t number;
        action what;
    };

    static bool later(const event& a, const event& b) noexcept {
        return std::pair(a.due_ns, a.number) > std::pair(b.due_ns, b.number);
    }

    std::vector<event> heap_;
    uint64_t added_ = 0;
};

}  // namespace weft::sim
