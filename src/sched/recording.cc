// recording.cc: see recording.h.
#include "sched/recording.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/assert.h"
#include "os/cpu_ticks.h"
#include "os/os.h"
#include "os/whole_pages.h"
#include "per_g/labels.h"
#include "sched/current.h"
#include "sched/scheduler.h"
#include "sched/wait_observer.h"
#include "sched/watched_bits.h"
#include "stack/read_frames.h"

namespace weft::detail {

namespace {

constexpr uint64_t without_p = 0xffffffff;  // no_p of observe/timeline.h
constexpr uint64_t events_least = 256;
constexpr uint64_t events_most = uint64_t{1} << 26;
constexpr std::size_t labels_most = 256;  // bytes
constexpr int stack_most = 32;            // addresses

recorded_thread* map_ring(uint64_t capacity) noexcept {
    const std::size_t size = os::whole_pages(sizeof(recorded_thread) + capacity * sizeof(event_ring::place));
    void* const at = os::map_pages(size, true);
    if (at == nullptr) return nullptr;
    // The places are zeros, which are atomics of value 0; touching them would use memory.
    auto* places = reinterpret_cast<event_ring::place*>(static_cast<std::byte*>(at) + sizeof(recorded_thread));
    return new (at) recorded_thread{.ring = {places, capacity}, .next = nullptr, .mapped = size, .in_use = true};
}

// A ring that no M uses, or a new one; nullptr: no memory, which is counted.
recorded_thread* get_ring(recording& r) noexcept {
    r.lock.lock();
    const uint64_t capacity = r.capacity;
    recorded_thread* found = r.rings.load(relaxed_locked);
    while (found != nullptr && found->in_use.load(acquire)) found = found->next;  // pairs with put_ring
    if (found != nullptr) found->in_use.store(true, relaxed_locked);
    r.lock.unlock();
    if (found != nullptr) return found;
    recorded_thread* made = map_ring(capacity);
    if (made == nullptr) {
        r.without_ring.fetch_add(1, relaxed_count);
        return nullptr;
    }
    r.lock.lock();
    made->next = r.rings.load(relaxed_locked);
    r.rings.store(made, release);  // pairs with readers
    r.lock.unlock();
    return made;
}

void put_ring(recorded_thread& t) noexcept { t.in_use.store(false, release); }  // pairs with get_ring

void add_text(event_ring& ring, std::string_view text) noexcept {
    for (std::size_t at = 0; at < text.size(); at += event_text) {
        uint64_t words[2] = {};
        std::memcpy(words, text.data() + at, std::min(text.size() - at, event_text));
        ring.add(words[0], event::pack(event_kind::text, 0, 0), words[1]);
    }
}

void record_thread(event_ring& ring, const M& m) noexcept {
    const auto tid = static_cast<uint64_t>(m.tid());
    ring.add(os::cpu_ticks(), event::pack(event_kind::thread, 0, m.index), tid);
}

// An M that began before s recorded, and whose thread has begun and not ended.
M* m_without_ring_locked(scheduler& s) noexcept WEFT_REQUIRES(s.threads_lock) {
    M* m = s.all_ms;
    while (m != nullptr && (m->preempt_word == nullptr || m->events.load(relaxed_hint) != nullptr)) m = m->all_next;
    return m;
}

// Its thread may do the same at the same time.
[[nodiscard]] bool attach(M* m, recorded_thread* made) noexcept {
    event_ring* none = nullptr;
    record_thread(made->ring, *m);
    return m->events.compare_exchange_strong(none, &made->ring, acq_rel, relaxed);  // relaxed: it has one
}

void give_rings(scheduler& s) noexcept {
    for (bool more = true; more;) {
        recorded_thread* made = get_ring(*s.record);
        if (made == nullptr) return;
        s.threads_lock.lock();
        M* m = m_without_ring_locked(s);
        more = m != nullptr;
        const bool used = more && attach(m, made);
        s.threads_lock.unlock();
        if (!used) put_ring(*made);
    }
}

[[nodiscard]] int open_outside(recording& r) noexcept {
    r.outside_lock.lock();
    const bool open = r.outside != nullptr;
    r.outside_lock.unlock();
    if (open) return 0;
    recorded_thread* made = get_ring(r);
    if (made == nullptr) return ENOMEM;
    made->is_outside.store(true, relaxed);  // relaxed: for names
    r.outside_lock.lock();
    r.outside = &made->ring;
    r.outside_lock.unlock();
    return 0;
}

void trace_locked(recording& r) noexcept WEFT_REQUIRES(r.changing) {
    if (r.tracers++ == 0 && r.of != nullptr) set_watched_bit(*r.of, special::traced, true);
}

void untrace_locked(recording& r) noexcept WEFT_REQUIRES(r.changing) {
    WEFT_ASSERT(r.tracers != 0);
    if (--r.tracers == 0 && r.of != nullptr) set_watched_bit(*r.of, special::traced, false);
}

// In the child of a fork: a thread that held the lock, or recorded, does not exist there.
bool is_the_parents(const recording& r) noexcept WEFT_NO_THREAD_SAFETY_ANALYSIS {
    return r.of != nullptr && is_from_before_fork(*r.of);
}

}  // namespace

int begin_recording(recording& r, uint64_t events_per_thread) noexcept {
    r.changing.lock();
    if (r.consumers == 0 && r.of != nullptr) {
        scheduler& s = *r.of;
        r.lock.lock();
        if (r.capacity == 0) r.capacity = std::bit_ceil(std::clamp(events_per_thread, events_least, events_most));
        r.lock.unlock();
        if (const int error = open_outside(r)) {
            r.changing.unlock();
            return error;
        }
        r.on.store(true, release);  // pairs with begin_recording_of, or that sees the M in give_rings
        give_rings(s);
    }
    ++r.consumers;
    trace_locked(r);
    r.changing.unlock();
    return 0;
}

void end_recording(recording& r) noexcept {
    if (is_the_parents(r)) return;
    r.changing.lock();
    WEFT_ASSERT(r.consumers != 0);
    untrace_locked(r);
    if (--r.consumers == 0) {
        r.on.store(false, relaxed);  // relaxed: events that come later do no harm
        if (r.stack_every.exchange(0, relaxed_locked) != 0) unwatch_waits();
    }
    r.changing.unlock();
}

void record_stacks(recording& r, uint32_t every) noexcept {
    r.changing.lock();
    const uint32_t now = r.stack_every.load(relaxed_locked);
    if (now == 0) watch_waits();
    if (now == 0 || every < now) r.stack_every.store(every, relaxed);  // relaxed: a number
    r.changing.unlock();
}

void begin_tracing(recording& r) noexcept {
    r.changing.lock();
    trace_locked(r);
    r.changing.unlock();
}

void end_tracing(recording& r) noexcept {
    if (is_the_parents(r)) return;
    r.changing.lock();
    untrace_locked(r);
    r.changing.unlock();
}

std::shared_ptr<recording> recording_of_caller() {
    if (const M* m = current_m()) return m->home->record;
    scheduler& s = pin_default_scheduler();
    std::shared_ptr<recording> found = s.record;
    s.unpin();
    return found;
}

void leave_recording(recording& r) noexcept {
    r.changing.lock();
    r.of = nullptr;
    r.changing.unlock();
}

recording::~recording() {
    recorded_thread* t = rings.load(relaxed_alone);
    while (t != nullptr) {
        recorded_thread* next = t->next;
        os::unmap_pages(t, t->mapped);
        t = next;
    }
}

void begin_recording_of(M* m) noexcept {
    recording& r = *m->home->record;
    if (!r.on.load(acquire)) return;                                                  // from begin_recording
    if (event_ring* ring = m->events.load(acquire)) return record_thread(*ring, *m);  // sees what attach wrote
    recorded_thread* made = get_ring(r);
    if (made != nullptr && !attach(m, made)) put_ring(*made);
}

void end_recording_of(M* m) noexcept {
    event_ring* ring = m->events.exchange(nullptr, acq_rel);  // sees what attach wrote
    if (ring == nullptr) return;
    for (recorded_thread* t = m->home->record->rings.load(acquire); t != nullptr; t = t->next) {  // pairs with get_ring
        if (&t->ring == ring) put_ring(*t);
    }
}

namespace {

// nullptr: nothing is recorded.
event_ring* ring_of(const M* m) noexcept {
    event_ring* ring = m->events.load(acquire);  // sees what attach wrote
    return m->home->record->on.load(relaxed_hint) ? ring : nullptr;
}

}  // namespace

void record_event(M* m, event_kind kind, uint8_t detail, uint64_t id, uint64_t argument) noexcept {
    event_ring* ring = ring_of(m);
    if (ring != nullptr) ring->add(os::cpu_ticks(), event::pack(kind, detail, id), argument);
}

void record_text(M* m, std::string_view text) noexcept {
    event_ring* ring = ring_of(m);
    if (ring != nullptr) add_text(*ring, text);
}

namespace {

event_yield yield_of(const M* m, const G& from) noexcept {
    // relaxed: its own
    if ((from.special.load(relaxed) & special::preempted) != 0) return event_yield::preempted;
    return m->after.what == after_switch::kind::requeue ? event_yield::asked_itself : event_yield::had_no_p;
}

uint64_t object_of(const after_switch& after) noexcept {
    const bool has_many = after.what == after_switch::kind::park_claimable_many;
    return has_many ? 0 : reinterpret_cast<uintptr_t>(after.lock);
}

uint64_t word_of(const source_location& where) noexcept {
    static_assert(sizeof(where) == sizeof(uint64_t), "a source_location is a pointer to a constant");
    uint64_t word = 0;
    std::memcpy(&word, &where, sizeof(word));
    return word;
}

// It starts with a name or with labels.
bool is_described_start(const G& g) noexcept {
    return (g.traits & (trait::named | trait::labelled)) != 0 && g.never_ran();
}

[[gnu::always_inline]] inline void add_leave(event_ring& ring, uint64_t ticks, const M* m, const G& from) noexcept {
    uint64_t what = 0;
    uint64_t argument = 0;
    switch (m->after.what) {
        case after_switch::kind::park:
        case after_switch::kind::park_claimable:
        case after_switch::kind::park_claimable_many:
            what = event::pack(event_kind::wait, static_cast<uint8_t>(from.reason), from.id);
            argument = object_of(m->after);
            break;
        case after_switch::kind::die:
        case after_switch::kind::die_outside:
            what = event::pack(event_kind::end, 0, from.id);
            break;
        default:
            what = event::pack(event_kind::yield, static_cast<uint8_t>(yield_of(m, from)), from.id);
            break;
    }
    ring.add(ticks, what, argument);
}

[[gnu::always_inline]] inline void add_run(event_ring& ring, uint64_t ticks, const M* m, const G& to) noexcept {
    const P* p = m->p;  // nullptr: the scheduler has stopped
    ring.add(ticks, event::pack(event_kind::run, 0, to.id), p == nullptr ? without_p : p->index);
}

void add_name(event_ring& ring, const G& g) noexcept {
    const std::string_view name = g.name_or_empty();
    ring.add(os::cpu_ticks(), event::pack(event_kind::name, 0, g.id), name.size());
    add_text(ring, name);
}

void add_labels(event_ring& ring, const G& g) noexcept {
    char text[labels_most];
    const std::size_t size = pack_labels(g, text, sizeof(text));
    ring.add(os::cpu_ticks(), event::pack(event_kind::labels, 0, g.id), size);
    add_text(ring, {text, size});
}

void describe_start(event_ring& ring, const G& g) noexcept {
    if ((g.traits & trait::named) != 0) add_name(ring, g);
    if ((g.traits & trait::labelled) != 0) add_labels(ring, g);
}

// What a thread says of a G that it has made runnable.
uint64_t runnable_event(const G& g, uint8_t waker, uint64_t by, uint64_t& argument) noexcept {
    if (g.never_ran()) [[unlikely]] {
        argument = word_of(g.where);
        return event::pack(event_kind::spawn, 0, g.id);
    }
    argument = by;
    return event::pack(event_kind::ready, waker, g.id);
}

// Not the next G of m if a deadline or a cancellation has ended the wait of the last one.
const G* waker_on(const M& m) noexcept { return m.after.what == after_switch::kind::claimed ? nullptr : m.g; }

}  // namespace

void record_leave(M* m, const G& from) noexcept {
    tell_wait_begins(m, from);
    event_ring* ring = m->events.load(acquire);  // sees what attach wrote
    if (ring != nullptr) add_leave(*ring, os::cpu_ticks(), m, from);
}

void record_run(M* m, const G& to) noexcept {
    event_ring* ring = m->events.load(acquire);  // as above
    if (ring != nullptr) add_run(*ring, os::cpu_ticks(), m, to);
}

void record_switch(M* m, const G& from, const G& to) noexcept {
    tell_wait_begins(m, from);
    event_ring* ring = m->events.load(acquire);  // as above
    if (ring == nullptr) return;
    const uint64_t ticks = os::cpu_ticks();
    add_leave(*ring, ticks, m, from);
    add_run(*ring, ticks, m, to);
}

void record_runnable(M* m, const G& g) noexcept {
    tell_wait_ends(m, g);
    event_ring* ring = m->events.load(acquire);  // as above
    if (ring == nullptr) return;
    const G* waker = waker_on(*m);
    const uint64_t by = waker == nullptr ? 0 : waker->id;
    uint64_t argument = 0;
    const uint64_t what = runnable_event(g, 0, by, argument);
    if (is_described_start(g)) [[unlikely]]
        describe_start(*ring, g);
    ring->add(os::cpu_ticks(), what, argument);
}

void record_name(M* m, const G& g) noexcept {
    event_ring* ring = ring_of(m);
    if (ring != nullptr) add_name(*ring, g);
}

void record_labels(M* m, const G& g) noexcept {
    event_ring* ring = ring_of(m);
    if (ring != nullptr) add_labels(*ring, g);
}

namespace {

// Calls add(ring) for the ring of threads without an M.
template <typename F>
void add_outside(recording& r, F add) noexcept {
    if (!r.on.load(relaxed_hint)) return;
    r.outside_lock.lock();
    if (r.outside != nullptr) add(*r.outside);
    r.outside_lock.unlock();
}

}  // namespace

void record_outside(scheduler& s, event_kind kind, uint8_t detail, uint64_t id, uint64_t argument) noexcept {
    add_outside(*s.record,
                [&](event_ring& ring) { ring.add(os::cpu_ticks(), event::pack(kind, detail, id), argument); });
}

void record_counter_outside(scheduler& s, uint64_t name, uint64_t value) noexcept {
    add_outside(*s.record, [&](event_ring& ring) {
        const uint64_t ticks = os::cpu_ticks();
        ring.add(ticks, event::pack(event_kind::counter, 0, 0), name);
        ring.add(ticks, event::pack(event_kind::value, 0, 0), value);
    });
}

void record_log_outside(scheduler& s, std::string_view message) noexcept {
    add_outside(*s.record, [&](event_ring& ring) {
        ring.add(os::cpu_ticks(), event::pack(event_kind::log, 0, 0), message.size());
        add_text(ring, message);
    });
}

void record_cpu_delays(scheduler& s) noexcept {
    constexpr uint32_t most = 64;  // at some 10 us each

    struct {
        uint64_t m;
        int tid;
    } all[most];

    uint32_t count = 0;
    s.threads_lock.lock();
    for (const M* m = s.all_ms; m != nullptr && count < most; m = m->all_next) {
        if (has_ring(m)) all[count++] = {m->index, m->tid()};
    }
    s.threads_lock.unlock();
    for (uint32_t i = 0; i < count; ++i) {
        const int64_t ns = os::thread_waited_ns(all[i].tid);
        record_outside(s, event_kind::cpu_delay, 0, all[i].m, static_cast<uint64_t>(ns));
    }
}

void record_runnable_outside(const G& g) noexcept {
    // A thread of the same scheduler may have lost its P.
    const M* m = current_m();
    const bool is_own = m != nullptr && m->home == g.home;
    tell_wait_ends(is_own ? m : nullptr, g);
    const G* waker = !is_own ? nullptr : m->g != nullptr ? waker_on(*m) : m->lent_by;
    const uint64_t by = !is_own ? static_cast<uint64_t>(os::current_tid()) : waker != nullptr ? waker->id : 0;
    add_outside(*g.home->record, [&](event_ring& ring) {
        uint64_t argument = 0;
        const uint64_t what = runnable_event(g, is_own ? 0 : 1, by, argument);
        if (is_described_start(g)) describe_start(ring, g);
        ring.add(os::cpu_ticks(), what, argument);
    });
}

namespace {

// One in `every`, at random. Ticks may be multiples of a number, so their low bits are no draw.
bool is_drawn(uint64_t ticks, uint32_t every) noexcept {
    const uint64_t mixed = ticks * 0x9e3779b97f4a7c15 >> 32;
    return mixed * every >> 32 == 0;
}

}  // namespace

void record_stack(const M* m, const G& g) noexcept {
    recording& r = *g.home->record;
    const uint32_t every = r.stack_every.load(relaxed_hint);
    const uint64_t ticks = os::cpu_ticks();
    if (every == 0 || !is_drawn(ticks, every)) return;
    const void* pcs[stack_most];
    const int count = read_frames(g.context.pc, g.context.fp, g.context.sp, *g.stack, pcs, stack_most);
    const std::size_t size = static_cast<std::size_t>(count) * sizeof(pcs[0]);
    const auto add = [&](event_ring& ring) {
        ring.add(ticks, event::pack(event_kind::stack, 0, g.id), size);
        add_text(ring, {reinterpret_cast<const char*>(pcs), size});
    };
    if (m == nullptr) return add_outside(r, add);
    if (event_ring* ring = m->events.load(acquire)) add(*ring);  // sees what attach wrote
}

}  // namespace weft::detail
