// time.cc: see weft/run/time.h.
#include <memory>
#include <optional>

#include <weft/run/time.h>
#include <weft/time.h>

#include "c/place.h"
#include "c/status.h"
#include "c/timer.h"

using namespace weft::detail;

namespace {

// Makes the handle first, because a started timer must not fail afterwards.
run_status_t make_timer(run_timer_t** timer,
                        const timed_function* f,
                        const void* closure,
                        int64_t delay_ns,
                        int64_t period_ns,
                        weft::source_location where) noexcept {
    return guarded_call([=] {
        timer_state* state = timer_make(f, where);
        if (f != nullptr) std::memcpy(timer_function(*state), closure, f->size);
        weft::timer owner = timer_access::handle(state);
        auto made = std::make_unique<run_timer>(std::move(owner), *state);
        timer_start(*state, delay_ns < 0 ? 0 : delay_ns, period_ns);
        *timer = made.release();
    });
}

struct timed_call {
    void (*fn)(void*);
    void* arg;

    void operator()() const { fn(arg); }
};

run_status_t wait_by(run_timer_t* timer, int64_t* due_ns, int64_t deadline_ns) noexcept {
    if (timer == nullptr || timer->ticks == nullptr) return RUN_INVALID;
    return guarded_call([=] {
        std::optional<tick> got;
        wait_result interrupted = wait_result::served;
        const weft::chan_status status = timer->ticks->recv(got, deadline_ns, &interrupted);
        if (status == weft::chan_status::ok) {
            if (due_ns != nullptr) *due_ns = ns_of(*got);
            return RUN_OK;
        }
        if (status == weft::chan_status::would_block) return RUN_WOULD_BLOCK;
        return interrupted == wait_result::served ? RUN_TIMEOUT : status_of(interrupted, deadline_ns);
    });
}

}  // namespace

run_status_t run_sleep_ns(int64_t ns) noexcept { return ns <= 0 ? RUN_OK : run_sleep_until_ns(deadline_of(ns)); }

run_status_t run_sleep_until_ns(int64_t deadline_ns) noexcept {
    return guarded_call([=] { sleep_until_ns(deadline_ns); });
}

run_status_t run_timer_make(run_timer_t** timer, int64_t delay_ns, int64_t period_ns) noexcept {
    if (timer == nullptr || period_ns < 0) return RUN_INVALID;
    *timer = nullptr;
    return make_timer(timer, nullptr, nullptr, delay_ns, period_ns, weft::source_location::current());
}

run_status_t(run_after_func)(run_timer_t** timer, int64_t delay_ns, void (*fn)(void*), void* arg) noexcept {
    return run_after_func_at(timer, delay_ns, fn, arg, nullptr, 0, nullptr);
}

run_status_t run_after_func_at(run_timer_t** timer,
                               int64_t delay_ns,
                               void (*fn)(void*),
                               void* arg,
                               const char* file,
                               int line,
                               const char* function) noexcept {
    if (timer == nullptr) return RUN_INVALID;
    *timer = nullptr;
    if (fn == nullptr) return RUN_INVALID;
    const timed_call call{fn, arg};
    return make_timer(timer, &timed_function_of<timed_call>, &call, delay_ns, 0, place_of(file, line, function));
}

void run_timer_free(run_timer_t* timer) noexcept { delete timer; }

run_status_t run_timer_wait(run_timer_t* timer, int64_t* due_ns) noexcept { return wait_by(timer, due_ns, never); }

run_status_t run_timer_wait_for(run_timer_t* timer, int64_t* due_ns, int64_t timeout_ns) noexcept {
    return wait_by(timer, due_ns, deadline_of(timeout_ns));
}

run_status_t run_timer_stop(run_timer_t* timer, bool* prevented) noexcept {
    if (timer == nullptr) return RUN_INVALID;
    const bool was_running = timer->timer.stop();
    if (prevented != nullptr) *prevented = was_running;
    return RUN_OK;
}

run_status_t run_timer_reset(run_timer_t* timer, int64_t delay_ns, int64_t period_ns, bool* prevented) noexcept {
    if (timer == nullptr || period_ns < 0 || (period_ns != 0 && timer->ticks == nullptr)) return RUN_INVALID;
    return guarded_call([=] {
        const bool was_running = timer_start(timer->state, delay_ns < 0 ? 0 : delay_ns, period_ns);
        if (prevented != nullptr) *prevented = was_running;
    });
}
