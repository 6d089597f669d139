// select.cc: see weft/run/select.h.
#include <memory>
#include <new>
#include <optional>
#include <system_error>

#include <weft/detail/select_case.h>
#include <weft/run/select.h>
#include <weft/select.h>

#include "c/chan.h"
#include "c/event.h"
#include "c/future.h"
#include "c/status.h"
#include "c/timer.h"
#include "c/watch.h"

namespace {

using namespace weft::detail;

// Selects with up to so many cases allocate nothing.
constexpr std::size_t few_cases = 16;
constexpr std::size_t very_few_cases = 4;

struct case_memory {
    std::optional<tick> at;  // receives the tick of a timer first
    std::optional<fd_select_state> fd;
};

run_status_t status_of_case(const run_select_case_t& c, const select_case& raw, const case_memory& memory) noexcept {
    if (memory.fd.has_value()) {
        const std::error_code error = memory.fd->error();
        return !error ? RUN_OK : error == weft::errc::closed ? RUN_CLOSED : RUN_SYSTEM;
    }
    const bool is_chan = c.op == RUN_SELECT_RECV || c.op == RUN_SELECT_SEND;
    return !is_chan || raw.w.ok ? RUN_OK : RUN_CLOSED;
}

bool prepare(const run_select_case_t& from, select_request& request, select_case& into, case_memory& memory) noexcept {
    switch (from.op) {
        case RUN_SELECT_RECV:
            byte_recv_case::prepare(into, static_cast<run_chan*>(from.object), from.to);
            return true;
        case RUN_SELECT_SEND: {
            auto* to = static_cast<run_chan*>(from.object);
            if (to != nullptr && to->elem_size != 0 && from.from == nullptr) return false;
            byte_send_case::prepare(into, to, from.from);
            return true;
        }
        case RUN_SELECT_FUTURE:
            if (from.object != nullptr)
                count_select_case::prepare(into, static_cast<run_future*>(from.object)->pending);
            return true;
        case RUN_SELECT_EVENT:
            if (from.object != nullptr) event_case::prepare(into, core_of(static_cast<run_event*>(from.object)->e));
            return true;
        case RUN_SELECT_TIMER: {
            auto* timer = static_cast<run_timer*>(from.object);
            if (timer != nullptr && timer->ticks == nullptr) return false;
            chan_recv_case<tick>::prepare(into, timer == nullptr ? nullptr : timer->ticks, memory.at);
            return true;
        }
        case RUN_SELECT_READABLE:
        case RUN_SELECT_WRITABLE:
            if (from.object == nullptr) return true;
            memory.fd.emplace(static_cast<run_watch*>(from.object)->fd, from.op == RUN_SELECT_WRITABLE);
            memory.fd->prepare(request, into);
            return true;
    }
    return false;
}

run_status_t select_with(run_select_case_t* cases,
                         std::size_t count,
                         int64_t timeout_ns,
                         std::size_t& chosen,
                         select_case* raw,
                         held_lock* locks,
                         case_memory* memory,
                         bool in_order) noexcept {
    select_request request{.cases = raw, .count = count, .locks = locks, .in_order = in_order};
    for (std::size_t i = 0; i < count; ++i) {
        if (!prepare(cases[i], request, raw[i], memory[i])) return RUN_INVALID;
    }
    // Two indices beyond the cases tell why no case was performed.
    const std::size_t at_once = count + 1;
    if (timeout_ns <= 0) {
        request.otherwise_case = at_once;
    } else if (timeout_ns != RUN_FOREVER) {
        request.deadline_ns = deadline_of(timeout_ns);
        request.deadline_case = count;
    }
    return guarded_call([&] {
        const std::size_t done = select_among(request);
        if (done >= count) return done == at_once ? RUN_WOULD_BLOCK : RUN_TIMEOUT;
        run_select_case_t& c = cases[done];
        c.status = status_of_case(c, raw[done], memory[done]);
        const std::optional<tick>& at = memory[done].at;
        if (at.has_value() && c.to != nullptr) *static_cast<int64_t*>(c.to) = ns_of(*at);
        chosen = done;
        return RUN_OK;
    });
}

template <std::size_t most>
run_status_t select_in_frame(
    run_select_case_t* cases, std::size_t count, int64_t timeout_ns, std::size_t& chosen, bool in_order) noexcept {
    select_case raw[most];
    held_lock locks[most];
    case_memory memory[most];
    return select_with(cases, count, timeout_ns, chosen, raw, locks, memory, in_order);
}

run_status_t select_by(
    run_select_case_t* cases, std::size_t count, int64_t timeout_ns, std::size_t* chosen, bool in_order) noexcept {
    std::size_t ignored = 0;
    std::size_t& which = chosen == nullptr ? ignored : *chosen;
    which = count;
    if (cases == nullptr && count != 0) return RUN_INVALID;
    if (count <= very_few_cases) return select_in_frame<very_few_cases>(cases, count, timeout_ns, which, in_order);
    if (count <= few_cases) return select_in_frame<few_cases>(cases, count, timeout_ns, which, in_order);
    const std::unique_ptr<select_case[]> raw(new (std::nothrow) select_case[count]);
    const std::unique_ptr<held_lock[]> locks(new (std::nothrow) held_lock[count]);
    const std::unique_ptr<case_memory[]> memory(new (std::nothrow) case_memory[count]);
    if (raw == nullptr || locks == nullptr || memory == nullptr) return RUN_EXHAUSTED;
    return select_with(cases, count, timeout_ns, which, raw.get(), locks.get(), memory.get(), in_order);
}

}  // namespace

run_status_t run_select(run_select_case_t* cases, size_t count, int64_t timeout_ns, size_t* chosen) noexcept {
    return select_by(cases, count, timeout_ns, chosen, false);
}

run_status_t run_select_first(run_select_case_t* cases, size_t count, int64_t timeout_ns, size_t* chosen) noexcept {
    return select_by(cases, count, timeout_ns, chosen, true);
}
