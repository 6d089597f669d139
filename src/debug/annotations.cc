// annotations.cc: implements weft/trace.h.
#include <algorithm>
#include <bit>

#include <weft/trace.h>

#include "sched/recording.h"
#include "sched/scheduler.h"
#include "sched/switch.h"

namespace weft::trace {

namespace {

using namespace weft::detail;

constexpr std::size_t log_most = 1000;

bool is_traced(const G& g) noexcept { return (g.special.load(relaxed_hint) & special::traced) != 0; }

// Calls record(m, g) if the caller is a green thread that is recorded. Nothing interrupts it.
template <typename F>
bool in_runtime(F record) noexcept {
    M* m = current_g_m();
    if (m == nullptr || !is_traced(*m->g)) return m != nullptr;
    static_cast<void>(enter(m));  // with or without a P
    record(m, *m->g);
    leave(m);
    return true;
}

// Calls record(s) for a plain thread, if the default runtime is recorded.
template <typename F>
void in_plain_thread(F record) noexcept {
    scheduler* s = pin_default_scheduler_if_any();
    if (s == nullptr) return;
    record(*s);
    s->unpin();
}

}  // namespace

namespace detail {

void begin_region(const char* name) noexcept {
    in_runtime(
        [name](M* m, const G& g) { record_event(m, event_kind::region, 0, g.id, reinterpret_cast<uintptr_t>(name)); });
}

void end_region() noexcept {
    in_runtime([](M* m, const G& g) { record_event(m, event_kind::region_over, 0, g.id, 0); });
}

}  // namespace detail

void counter(literal name, double value) noexcept {
    const auto text = reinterpret_cast<uintptr_t>(name.text());
    const auto bits = std::bit_cast<uint64_t>(value);
    const bool in_g = in_runtime([&](M* m, const G& g) {
        record_event(m, event_kind::counter, 0, g.id, text);
        record_event(m, event_kind::value, 0, g.id, bits);
    });
    if (!in_g) in_plain_thread([&](scheduler& s) { record_counter_outside(s, text, bits); });
}

void log(std::string_view message) noexcept {
    const std::string_view kept = message.substr(0, log_most);
    const bool in_g = in_runtime([&](M* m, const G& g) {
        record_event(m, event_kind::log, 0, g.id, kept.size());
        record_text(m, kept);
    });
    if (!in_g) in_plain_thread([&](scheduler& s) { record_log_outside(s, kept); });
}

bool is_recorded() noexcept {
    if (const M* m = current_g_m()) return is_traced(*m->g);
    bool on = false;
    in_plain_thread([&](const scheduler& s) { on = s.record->on.load(relaxed_hint); });
    return on;
}

}  // namespace weft::trace
