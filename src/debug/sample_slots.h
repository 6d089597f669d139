// sample_slots.h: places in which signal handlers leave samples for one thread that collects them.
//
//     empty ──a handler──▶ filling ──the same──▶ full ──the collector──▶ empty
//
// A handler claims an empty place by a compare-exchange, so it never waits: if the few places that
// it tries are taken, the sample is lost and counted. Samples have no order.
//
// Rejected: a ring. There, a handler whose thread gets no CPU holds up the collector.
//
// Ordering: R1 (a place is full) pairs with A1: the collector sees the sample.
//           R2 (a place is empty) pairs with A2: a handler does not write before the collector has
//           read.
// Threads:  add: any, in a signal handler. take_all, lost: the collector.
// See:      test/model/sample_slots_model.cc
#pragma once

#include <cstdint>

#include "base/atomic.h"

namespace weft::detail {

template <typename T, uint32_t Count>
class sample_slots {
public:
    static constexpr uint32_t tries = model_build ? 2 : 8;
    static_assert(Count >= tries && (Count & (Count - 1)) == 0, "numbers of places wrap around");

    sample_slots() {
        for (atomic<uint32_t>& state : states_) state.store(empty, relaxed_alone);
    }

    // Calls fill(T&). Returns false if there is no place.
    template <typename Fill>
    bool add(Fill fill) {
        const uint32_t first = next_.fetch_add(1, relaxed);  // relaxed: where to begin; each place is claimed
        for (uint32_t i = 0; i < tries; ++i) {
            const uint32_t at = (first + i) % Count;
            uint32_t found = empty;
            // A2; relaxed: another place is tried
            if (!states_[at].compare_exchange_strong(found, filling, acquire, relaxed_cas)) continue;
            fill(places_[at]);
            states_[at].store(full, release);  // R1
            return true;
        }
        lost_.fetch_add(1, relaxed_count);
        return false;
    }

    // Calls take(T&) for each that is there.
    template <typename Take>
    void take_all(Take take) {
        for (uint32_t at = 0; at < Count; ++at) {
            if (states_[at].load(acquire) != full) continue;  // A1
            take(places_[at]);
            states_[at].store(empty, release);  // R2
        }
    }

    [[nodiscard]] uint64_t lost() const { return lost_.load(relaxed_count); }

private:
    static constexpr uint32_t empty = 0;
    static constexpr uint32_t filling = 1;
    static constexpr uint32_t full = 2;

    atomic<uint32_t> next_{0};
    atomic<uint64_t> lost_{0};
    atomic<uint32_t> states_[Count];
    T places_[Count];
};

}  // namespace weft::detail
