// event_ring.h: the last events of one M, written by it and read by any thread.
//
// A writer must not wait for readers, so it overwrites the oldest events, and a reader finds out
// afterwards which of those that it has copied are whole:
//
//      writer, event number n                   reader
//      W1  the words of place n mod capacity    R1  reads head
//      W2  head = n + 1                         R2  copies the words of events below head
//                                               R3  reads head again, h: events up to h - capacity
//                                                   may have been overwritten meanwhile
//
// All stores are releases and all loads are acquires. If R2 reads a word of event n, R3 sees W2 of
// event n - 1, so head is at least n, and the reader drops the event that n has overwritten, which
// is number n - capacity. On x86 these are plain moves.
//
// Rejected:
// - a sequence number in each event: a third more memory, and two more stores
// - one ring for all: writers would share a cache line
//
// Threads: add: the owner. read: any, while the ring exists.
// See:     test/model/event_ring_model.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/atomic.h"
#include "events/event.h"

namespace weft::detail {

class event_ring {
public:
    // The words of one event.
    struct place {
        atomic<uint64_t> words[3];
    };

    // capacity: a power of two. places outlives the ring.
    event_ring(place* places, uint64_t capacity) noexcept : places_(places), capacity_(capacity) {}

    event_ring(const event_ring&) = delete;
    event_ring& operator=(const event_ring&) = delete;

    [[nodiscard]] uint64_t capacity() const noexcept { return capacity_; }

    void add(uint64_t ticks, uint64_t what, uint64_t argument) noexcept {
        const uint64_t n = head_.load(relaxed_own);
        place& at = places_[n & (capacity_ - 1)];
        at.words[0].store(ticks, release);     // W1 to R2
        at.words[1].store(what, release);      // W1 to R2
        at.words[2].store(argument, release);  // W1 to R2
        head_.store(n + 1, release);           // W2 to R1, R3
    }

    // Copies events to `into`, at most `most`, beginning with number `from`, or with the oldest one
    // that is still whole. Returns how many; from becomes the number after the last of them. The
    // events before from of which the caller has none are lost.
    [[nodiscard]] std::size_t read(uint64_t& from, event* into, std::size_t most) const noexcept {
        const uint64_t head = head_.load(acquire);  // R1 from W2
        uint64_t first = oldest(head, from);
        const uint64_t end = head - first < most ? head : first + most;
        for (uint64_t n = first; n < end; ++n) {
            const place& at = places_[n & (capacity_ - 1)];
            event& e = into[n - first];
            e.ticks = at.words[0].load(acquire);     // R2 from W1
            e.what = at.words[1].load(acquire);      // R2 from W1
            e.argument = at.words[2].load(acquire);  // R2 from W1
        }
        const uint64_t whole = oldest(head_.load(acquire) + events_under_way, first);  // R3 from W2
        from = end < whole ? whole : end;
        if (whole >= end) return 0;
        for (uint64_t n = whole; n < end && whole != first; ++n) into[n - whole] = into[n - first];
        return static_cast<std::size_t>(end - whole);
    }

    // The number of the next event.
    [[nodiscard]] uint64_t head() const noexcept { return head_.load(acquire); }  // R1 from W2

private:
    [[nodiscard]] uint64_t oldest(uint64_t head, uint64_t from) const noexcept {
        const uint64_t kept = head < capacity_ ? 0 : head - capacity_;
        return from < kept ? kept : from > head ? head : from;
    }

    place* const places_;
    const uint64_t capacity_;
    atomic<uint64_t> head_{0};
};

}  // namespace weft::detail
