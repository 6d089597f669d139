// meeting.cc: latches, barriers and events: see weft/run/latch.h and its neighbours.
#include <weft/barrier.h>
#include <weft/latch.h>
#include <weft/run/barrier.h>
#include <weft/run/latch.h>

#include "c/event.h"
#include "c/handle.h"

namespace {

struct c_completion {
    void (*fn)(void*);
    void* arg;

    void operator()() const noexcept {
        if (fn != nullptr) fn(arg);
    }
};

constexpr uint32_t max_count = (1U << 30) - 1;
static_assert(weft::latch::max() == max_count && weft::barrier<>::max() == max_count);

}  // namespace

struct run_latch {
    explicit run_latch(uint32_t count) noexcept : l(count) {}

    weft::latch l;
};

struct run_barrier {
    run_barrier(uint32_t count, c_completion completion) noexcept : core(count), at_end(completion) {}

    // Returns the arrival's phase.
    uint32_t after(weft::detail::barrier_core::arrived a) noexcept {
        if (a.last) end_phase();
        return a.phase;
    }

    void end_phase() noexcept {
        at_end();
        core.complete();
    }

    weft::detail::barrier_core core;
    c_completion at_end;
};

using namespace weft::detail;

// ---- Latch.

run_status_t run_latch_make(run_latch_t** latch, uint32_t count) noexcept {
    return count > max_count ? RUN_INVALID : make_handle(latch, count);
}

void run_latch_free(run_latch_t* latch) noexcept { delete latch; }

run_status_t run_latch_count_down(run_latch_t* latch, uint32_t n) noexcept {
    return with_handle(latch, [=](run_latch& h) { h.l.count_down(n); });
}

bool run_latch_is_open(run_latch_t* latch) noexcept { return latch != nullptr && latch->l.try_wait(); }

run_status_t run_latch_wait(run_latch_t* latch) noexcept {
    return with_handle(latch, [](run_latch& h) { h.l.wait(); });
}

run_status_t run_latch_wait_for(run_latch_t* latch, int64_t timeout_ns) noexcept {
    return try_for(latch, timeout_ns, [](run_latch& h, std::chrono::nanoseconds timeout) {
        return h.l.try_wait() || (timeout.count() > 0 && h.l.wait_for(timeout));
    });
}

run_status_t run_latch_arrive_and_wait(run_latch_t* latch, uint32_t n) noexcept {
    return with_handle(latch, [=](run_latch& h) { h.l.arrive_and_wait(n); });
}

// ---- Barrier.

run_status_t run_barrier_make(run_barrier_t** barrier, uint32_t count, void (*completion)(void*), void* arg) noexcept {
    return count > max_count ? RUN_INVALID : make_handle(barrier, count, c_completion{completion, arg});
}

void run_barrier_free(run_barrier_t* barrier) noexcept { delete barrier; }

run_status_t run_barrier_arrive_and_wait(run_barrier_t* barrier) noexcept {
    return with_handle(barrier, [](run_barrier& h) {
        if (h.core.arrive_and_wait()) h.end_phase();
    });
}

run_status_t run_barrier_arrive(run_barrier_t* barrier, uint32_t* phase) noexcept {
    if (phase == nullptr) return RUN_INVALID;
    return with_handle(barrier, [=](run_barrier& h) { *phase = h.after(h.core.arrive(1)); });
}

run_status_t run_barrier_wait(run_barrier_t* barrier, uint32_t phase) noexcept {
    return with_handle(barrier, [=](run_barrier& h) { h.core.wait(phase); });
}

run_status_t run_barrier_arrive_and_drop(run_barrier_t* barrier) noexcept {
    return with_handle(barrier, [](run_barrier& h) { h.after(h.core.arrive_and_drop()); });
}

// ---- Event.

run_status_t run_event_make(run_event_t** event) noexcept { return make_handle(event); }

void run_event_free(run_event_t* event) noexcept { delete event; }

run_status_t run_event_set(run_event_t* event) noexcept {
    return with_handle(event, [](run_event& h) { h.e.set(); });
}

run_status_t run_event_reset(run_event_t* event) noexcept {
    return with_handle(event, [](run_event& h) { h.e.reset(); });
}

bool run_event_is_set(run_event_t* event) noexcept { return event != nullptr && event->e.is_set(); }

run_status_t run_event_wait(run_event_t* event) noexcept { return run_event_wait_for(event, RUN_FOREVER); }

run_status_t run_event_wait_for(run_event_t* event, int64_t timeout_ns) noexcept {
    return try_for(event, timeout_ns, [](run_event& h, std::chrono::nanoseconds timeout) {
        return h.e.is_set() || (timeout.count() > 0 && h.e.wait_for(timeout));
    });
}
