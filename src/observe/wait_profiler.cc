// wait_profiler.cc: waits by stack, sampled while they end.
//
// The thread that ends a wait reads the waiter's frames, which are saved, or its own, adds the
// sample to the equal ones, and goes on. The time when a wait began lies in the record of the
// waiter's stack (stack::wait_began_ns). The same word is a pointer while the stack is on a
// list, so times are negative: no pointer is.
//
// Only samples take the lock. At the default rate that is one for each 10 us of waiting, or fewer.
//
// Rejected: events of a recording with stacks. Whether a wait is a sample is known when it ends, so
//           each would need its stack.
//
// Locks:   state::lock: nothing is taken under it. Not ranked, because it is taken where leaves of
//          the scheduler may be held.
// Threads: begins, ends: those of wait_observer.h. The public functions: any.
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <weft/blocking.h>
#include <weft/detail/spin_lock.h>
#include <weft/observe/wait_profile.h>

#include "debug/g_snapshot.h"
#include "observe/access.h"
#include "observe/code_names.h"
#include "observe/pprof.h"
#include "observe/profile_maker.h"
#include "observe/wait_sampling.h"
#include "os/cpu_ticks.h"
#include "os/os.h"
#include "sched/m.h"
#include "sched/recording.h"
#include "sched/scheduler.h"
#include "sched/wait_observer.h"
#include "stack/read_frames.h"

namespace weft::observe {

namespace {

namespace os = weft::detail::os;
using weft::detail::G;
using weft::detail::M;
using weft::detail::wait_reason;

constexpr int frames_max = weft::detail::stack_frames::max;
constexpr uint32_t stacks_max = 8192;  // stacks
constexpr uint32_t tries = 64;         // places that a stack may have

bool is_mutex(wait_reason reason) noexcept {
    return reason == wait_reason::mutex_lock || reason == wait_reason::shared_mutex_lock ||
           reason == wait_reason::shared_mutex_lock_shared;
}

// Samples with the same stack and reason.
struct counted_waits {
    double count = 0;  // 0: this place is empty
    int64_t ns = 0;
    bool is_unlock = false;  // in the profile of mutexes
    wait_reason reason = wait_reason::none;
    uint16_t frames = 0;
    const void* pcs[frames_max];

    [[nodiscard]] bool is_same(const counted_waits& o) const noexcept {
        return is_unlock == o.is_unlock && reason == o.reason && frames == o.frames &&
               std::memcmp(pcs, o.pcs, frames * sizeof(void*)) == 0;
    }

    [[nodiscard]] std::size_t hash() const noexcept {
        const std::string_view bytes(reinterpret_cast<const char*>(pcs), frames * sizeof(void*));
        return std::hash<std::string_view>()(bytes) * 31 + std::size_t{static_cast<uint8_t>(reason)} * 2 +
               (is_unlock ? 1 : 0);
    }
};

// Numbers that depend neither on the waits nor on the scheduler's random choices.
uint32_t random_bits(const G& g) noexcept {
    uint64_t x = os::cpu_ticks() ^ reinterpret_cast<uintptr_t>(&g);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;  // the finalizer of splitmix64
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return static_cast<uint32_t>(x >> 32);
}

}  // namespace

struct wait_profiler::state final : weft::detail::wait_observer {
    state(std::shared_ptr<weft::detail::recording> of, const wait_profile_options& wanted)
        : source(std::move(of)), options(wanted), places(new counted_waits[stacks_max]) {}

    const std::shared_ptr<weft::detail::recording> source;
    const wait_profile_options options;
    const int process = ::getpid();
    const int64_t began_unix_ns = detail::unix_ns();
    const int64_t began_ns = os::monotonic_ns();

    mutable weft::detail::spin_lock lock;
    const std::unique_ptr<counted_waits[]> places;  // its content is guarded by lock
    uint64_t lost WEFT_GUARDED_BY(lock) = 0;        // samples that found no place

    void begins(const G& g) noexcept override {
        if (g.home->record.get() == source.get()) g.stack->wait_began_ns = -os::monotonic_ns();
    }

    void ends(const M* m, const G& g) noexcept override {
        if (g.home->record.get() != source.get()) return;
        const int64_t value = g.stack->wait_began_ns;
        if (value >= 0) return;  // it yielded, or waits since before the beginning
        g.stack->wait_began_ns = 0;
        if (-value < began_ns) return;  // another profile's
        const int64_t ns = os::monotonic_ns() - -value;
        if (const int64_t rate = options.block_rate.count(); rate != 0) {
            const detail::weighted_wait w = detail::sample_by_duration(ns, rate, random_bits(g));
            if (w.count != 0) add_wait(g, w);
        }
        // A wait that a timer ends is no contention.
        const bool has_unlocker = m == nullptr || m->g != nullptr;
        if (options.mutex_fraction != 0 && is_mutex(g.reason) && has_unlocker) {
            const detail::weighted_wait w = detail::sample_by_count(ns, options.mutex_fraction, ~random_bits(g));
            if (w.count != 0) add_unlock(m, g, w);
        }
    }

    [[nodiscard]] std::string encode(bool is_unlock) const {
        uint64_t lost_until_now = 0;
        const std::vector<counted_waits> found = copy(is_unlock, lost_until_now);
        const detail::value_type values[] = {{"contentions", "count"}, {"delay", "nanoseconds"}};
        detail::pprof to(values);
        detail::code_names names(to);
        for (const counted_waits& c : found) {
            std::vector<uint64_t> locations =
                names.locations_of({c.pcs, c.frames}, false, detail::shown_frames::from_call);
            if (locations.empty())
                locations.push_back(
                    to.add_place({is_unlock ? "a thread without a processor of the runtime" : "unknown", "", 0}));
            const int64_t sums[] = {std::llround(c.count), c.ns};
            const detail::profile_label label{"wait_reason", text(c.reason)};
            to.add_sample(locations, sums, {&label, 1});
        }
        to.set_period(values[0], is_unlock ? options.mutex_fraction : 1);
        to.set_time(began_unix_ns, os::monotonic_ns() - began_ns);
        if (lost_until_now != 0)
            to.add_comment("weft: " + std::to_string(lost_until_now) + " samples lost: more than " +
                           std::to_string(stacks_max) + " different stacks");
        if (names.unnamed() != 0)
            to.add_comment("weft: " + std::to_string(names.unnamed()) + " addresses have no name");
        return to.finish();
    }

private:
    void add_wait(const G& g, const detail::weighted_wait& w) noexcept {
        counted_waits c;
        c.reason = g.reason;
        c.frames = static_cast<uint16_t>(
            weft::detail::read_frames(g.context.pc, g.context.fp, g.context.sp, *g.stack, c.pcs, frames_max));
        add(c, w);
    }

    void add_unlock(const M* m, const G& g, const detail::weighted_wait& w) noexcept {
        counted_waits c;
        c.is_unlock = true;
        c.reason = g.reason;
        const void* const here = __builtin_frame_address(0);
        // In a blocking call it is on another stack.
        if (m != nullptr && m->g->stack != nullptr && m->g->stack->holds(here))
            c.frames =
                static_cast<uint16_t>(weft::detail::read_frames(nullptr, here, here, *m->g->stack, c.pcs, frames_max));
        add(c, w);
    }

    void add(counted_waits& c, const detail::weighted_wait& w) noexcept {
        std::size_t at = c.hash();
        lock.lock();
        for (uint32_t i = 0; i < tries; ++i, ++at) {
            counted_waits& there = places[at % stacks_max];
            const bool is_new = there.count == 0;
            if (!is_new && !there.is_same(c)) continue;
            if (is_new) there = c;
            there.count += w.count;
            there.ns += w.ns;
            lock.unlock();
            return;
        }
        ++lost;
        lock.unlock();
    }

    [[nodiscard]] std::vector<counted_waits> copy(bool is_unlock, uint64_t& lost_until_now) const {
        std::vector<counted_waits> found;
        found.reserve(stacks_max);  // nothing is allocated under the lock
        lock.lock();
        for (uint32_t i = 0; i < stacks_max; ++i) {
            const counted_waits& c = places[i];
            if (c.count != 0 && c.is_unlock == is_unlock) found.push_back(c);
        }
        lost_until_now = lost;
        lock.unlock();
        return found;
    }
};

namespace {

void check(const wait_profile_options& options) {
    if (options.block_rate.count() < 0)
        throw std::invalid_argument("weft: a wait profile with a block_rate of " +
                                    std::to_string(options.block_rate.count()) +
                                    " ns; it must not be negative, and 0 leaves out the profile of all waits");
    if (options.block_rate.count() == 0 && options.mutex_fraction == 0)
        throw std::invalid_argument("weft: a wait profile of nothing; set block_rate or mutex_fraction");
}

template <typename State>
std::unique_ptr<State> begun(std::unique_ptr<State> made) {
    if (!weft::detail::set_wait_observer(*made))
        throw std::system_error(std::make_error_code(std::errc::device_or_resource_busy),
                                "weft: a wait profile is being taken already; destroy that wait_profiler first");
    weft::detail::begin_tracing(*made->source);
    return made;
}

}  // namespace

wait_profiler::wait_profiler(const wait_profile_options& options) {
    check(options);
    state_ = begun(std::make_unique<state>(weft::detail::recording_of_caller(), options));
}

wait_profiler::wait_profiler(const runtime& of, const wait_profile_options& options) {
    check(options);
    state_ =
        begun(std::make_unique<state>(detail::access::of(of, "weft: a wait profile was begun of")->record, options));
}

wait_profiler::~wait_profiler() {
    if (state_->process != ::getpid()) {
        // In the child of a fork, calls under way never end, so the observer stays.
        static_cast<void>(state_.release());  // NOLINT(bugprone-unused-return-value): it is never freed
        return;
    }
    weft::detail::end_tracing(*state_->source);
    weft::detail::clear_wait_observer();
}

profile wait_profiler::block() const {
    return blocking([&] { return profile_maker::make(state_->encode(false)); });
}

profile wait_profiler::mutex() const {
    return blocking([&] { return profile_maker::make(state_->encode(true)); });
}

}  // namespace weft::observe
