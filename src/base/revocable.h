// revocable.h: an object that many threads call, and that its owner takes back while they run.
//
//      caller                                  owner, revoke
//      C1  its count + 1                       O1  the object = none
//      C2  reads the object                    O2  waits until each count is 0
//      C3  calls it, if there is one
//      C4  its count - 1
//
// C1, C2, O1 and O2 are seq_cst, so either C2 sees O1, or O2 sees C1 and waits for C4. C4 is a
// release, so O2 also sees what the call has written.
//
// Rejected: one count. All callers would write to one cache line.
//
// Threads: call, is_set: any. set, revoke: any; the second of two objects is refused.
// See:     test/model/revocable_model.cc
#pragma once

#include <cstdint>

#include <weft/detail/spin_lock.h>

#include "base/atomic.h"

namespace weft::detail {

template <typename T, uint32_t Stripes>
class revocable {
public:
    // Returns false if there is another object.
    [[nodiscard]] bool set(T& object) noexcept {
        T* none = nullptr;
        return object_.compare_exchange_strong(none, &object, seq_cst, relaxed);  // relaxed: there is another
    }

    // Waits for calls that are under way.
    void revoke() noexcept {
        object_.store(nullptr, seq_cst);  // O1
        for (const stripe& s : under_way_) {
            for (uint32_t i = 0; s.count.load(seq_cst) != 0; ++i) spin_backoff(i);  // O2
        }
    }

    // A hint.
    [[nodiscard]] bool is_set() const noexcept { return object_.load(relaxed_hint) != nullptr; }

    // Calls use(T&) if there is an object. which: spreads the callers over the counts.
    template <typename Use>
    void call(uint32_t which, Use use) noexcept {
        if (!is_set()) return;
        atomic<uint32_t>& count = under_way_[which % Stripes].count;
        count.fetch_add(1, seq_cst);                          // C1
        if (T* object = object_.load(seq_cst)) use(*object);  // C2, C3
        count.fetch_sub(1, release);                          // C4
    }

private:
    struct alignas(cache_line) stripe {
        atomic<uint32_t> count{0};
    };

    atomic<T*> object_{nullptr};
    stripe under_way_[Stripes];
};

}  // namespace weft::detail
