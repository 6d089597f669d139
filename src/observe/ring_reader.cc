// ring_reader.cc: see ring_reader.h.
#include "observe/ring_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <limits>
#include <string_view>
#include <utility>

#include "debug/g_snapshot.h"
#include "os/cpu_ticks.h"
#include "os/os.h"
#include "per_g/labels.h"
#include "sched/freeze.h"
#include "sched/scheduler.h"

namespace weft::observe::detail {

namespace {

using weft::detail::acquire;
using weft::detail::event;
using weft::detail::event_kind;
using weft::detail::has_text;

// Takes the string after the event at all[at] off, if it is whole.
std::string text_after(const std::vector<event>& all, std::size_t& at) {
    const auto size = static_cast<std::size_t>((std::min)(all[at].argument, uint64_t{1 << 16}));
    std::string text;
    while (text.size() < size && at + 1 < all.size() && all[at + 1].kind() == event_kind::text) {
        char bytes[weft::detail::event_text];
        std::memcpy(bytes, &all[at + 1].ticks, 8);
        std::memcpy(bytes + 8, &all[at + 1].argument, 8);
        text.append(bytes, (std::min)(sizeof(bytes), size - text.size()));
        ++at;
    }
    return text;
}

std::string name_of_program() {
    char path[4096];
    const ssize_t size = ::readlink("/proc/self/exe", path, sizeof(path));
    if (size <= 0) return "program";
    const std::string_view whole(path, static_cast<std::size_t>(size));
    return std::string(whole.substr(whole.rfind('/') + 1));
}

uint64_t site_of(const weft::source_location& where) noexcept {
    uint64_t word = 0;
    std::memcpy(&word, &where, sizeof(word));
    return word;
}

place place_at(uint64_t site) {
    weft::source_location where;
    std::memcpy(static_cast<void*>(&where), &site, sizeof(where));
    return {where.file_name(), where.function_name(), where.line()};
}

constexpr std::size_t live_most = 100'000;
constexpr std::size_t labels_most = 256;  // bytes of one G

// False: it has ended. It may also end, and start as another, right after that: then its events say
// so.
bool read_live(const weft::detail::G& g, live_g& into) noexcept {
    weft::detail::identity who;
    if (g.state.load(acquire) == weft::detail::g_state::dead || !who.read(g)) return false;  // pairs with set_state
    into = {who.id, site_of(who.where), {}, {}};
    std::memcpy(into.name, who.name, sizeof(into.name));
    return true;
}

// Reads the labels of the G at labelled[i], if it is still all[i]. A G that runs may drop its
// labels at any time, unless it is frozen.
void add_labels(std::vector<live_g>& all, const std::vector<std::pair<std::size_t, weft::detail::G*>>& labelled) {
    constexpr std::size_t at_once = 64;
    weft::detail::G* gs[at_once];
    char texts[at_once][labels_most];
    std::size_t sizes[at_once];
    uint64_t ids[at_once];
    for (std::size_t from = 0; from < labelled.size(); from += at_once) {
        const std::size_t count = (std::min)(labelled.size() - from, at_once);
        for (std::size_t i = 0; i < count; ++i) gs[i] = labelled[from + i].second;
        {
            const weft::detail::frozen held(gs, static_cast<uint32_t>(count));
            for (std::size_t i = 0; i < count; ++i) {
                weft::detail::identity who;
                ids[i] = who.read(*gs[i]) ? who.id : 0;
                sizes[i] = weft::detail::pack_labels(*gs[i], texts[i], labels_most);
            }
        }
        for (std::size_t i = 0; i < count; ++i) {
            live_g& g = all[labelled[from + i].first];
            if (g.id == ids[i]) g.labels.assign(texts[i], sizes[i]);
        }
    }
}

// The child of a fork has no threads of its parent's runtimes.
bool is_alive(const weft::detail::recording& source) noexcept WEFT_REQUIRES(source.changing) {
    return source.of != nullptr && !weft::detail::is_from_before_fork(*source.of);
}

}  // namespace

instant now() noexcept {
    // Of several readings, the one with the least time between its two halves.
    instant best{};
    uint64_t least = (std::numeric_limits<uint64_t>::max)();
    for (int i = 0; i < 5; ++i) {
        const uint64_t before = weft::detail::os::cpu_ticks();
        const int64_t ns = weft::detail::os::monotonic_ns();
        const uint64_t after = weft::detail::os::cpu_ticks();
        if (after - before >= least) continue;
        least = after - before;
        best = {before + (after - before) / 2, ns, 0};
    }
    std::timespec real{};
    static_cast<void>(std::timespec_get(&real, TIME_UTC));
    best.realtime_ns = int64_t{real.tv_sec} * 1'000'000'000 + real.tv_nsec;
    return best;
}

clock_line::clock_line(const instant& a, const instant& b) noexcept : from_(a) {
    const auto ticks = static_cast<double>(b.ticks - a.ticks);
    ns_per_tick_ = ticks > 0 ? static_cast<double>(b.monotonic_ns - a.monotonic_ns) / ticks : 1;
}

int64_t clock_line::ns_of(uint64_t ticks) const noexcept {
    const auto since = static_cast<int64_t>(ticks - from_.ticks);
    return from_.monotonic_ns + static_cast<int64_t>(static_cast<double>(since) * ns_per_tick_);
}

uint32_t add_text(recorded& r, std::string text) {
    if (text.empty()) return 0;
    r.texts.push_back(std::move(text));
    return static_cast<uint32_t>(r.texts.size() - 1);
}

std::vector<step> decoder::steps_of(const std::vector<event>& all, uint32_t thread, recorded_ring& ring) {
    std::vector<step> steps;
    steps.reserve(all.size());
    for (std::size_t at = 0; at < all.size(); ++at) {
        const event& e = all[at];
        if (e.kind() == event_kind::text || e.kind() == event_kind::none || e.kind() >= event_kind::count) continue;
        uint32_t text = 0;
        if (has_text(e.kind())) text = add_text(into_, text_after(all, at));
        if (e.kind() == event_kind::thread) {
            ring.m = static_cast<uint32_t>(e.id());
            ring.tid = static_cast<int>(e.argument);
        }
        if (e.ticks < from_ticks_) {
            remember(e, text);
            continue;
        }
        steps.push_back({clock_.ns_of(e.ticks), e.id(), e.argument, thread, text, e.kind(), e.detail()});
    }
    return steps;
}

void decoder::add_remembered() {
    for (const auto& [id, g] : remembered_) into_.gs.push_back(g);
}

void decoder::remember(const event& e, uint32_t text) {
    if (e.kind() != event_kind::name && e.kind() != event_kind::labels && e.kind() != event_kind::spawn) return;
    known_g& g = remembered_.try_emplace(e.id(), known_g{e.id(), 0, 0, 0}).first->second;
    if (e.kind() == event_kind::name) g.name = text;
    if (e.kind() == event_kind::labels) g.labels = text;
    if (e.kind() == event_kind::spawn) g.site = e.argument;
}

std::vector<live_g> live_gs(weft::detail::recording& source) {
    std::vector<live_g> all;
    all.reserve(live_most);
    std::vector<std::pair<std::size_t, weft::detail::G*>> labelled;
    labelled.reserve(live_most);
    source.changing.lock();
    try {
        if (is_alive(source)) {
            source.of->gs.for_each([&](weft::detail::G& g) {
                live_g found{};
                if (all.size() >= live_most || !read_live(g, found)) return;
                if ((__atomic_load_n(&g.traits, __ATOMIC_RELAXED) & weft::detail::trait::labelled) != 0)
                    labelled.emplace_back(all.size(), &g);
                all.push_back(found);
            });
            add_labels(all, labelled);
        }
    } catch (...) {
        source.changing.unlock();
        throw;
    }
    source.changing.unlock();
    return all;
}

void add_gs(recorded& r, const std::vector<live_g>& gs) {
    for (const live_g& g : gs) r.gs.push_back({g.id, g.site, add_text(r, g.name), add_text(r, g.labels)});
}

std::vector<live_m> live_ms(weft::detail::recording& source) {
    constexpr std::size_t most = 20'000;  // more than RUN_MAX_THREADS allows
    std::vector<live_m> all;
    all.reserve(most);
    source.changing.lock();
    if (is_alive(source)) {
        source.of->threads_lock.lock();
        for (const weft::detail::M* m = source.of->all_ms; m != nullptr && all.size() < most; m = m->all_next) {
            if (const auto* ring = m->events.load(acquire)) all.push_back({ring, m->index, m->tid()});  // from attach
        }
        source.of->threads_lock.unlock();
    }
    source.changing.unlock();
    return all;
}

void add_names(recorded& r) {
    const auto add_place = [&](uint64_t site) {
        if (const auto [found, is_new] = r.places.try_emplace(site); is_new) found->second = place_at(site);
    };
    for (const step& s : r.steps) {
        if (s.kind == event_kind::spawn) add_place(s.argument);
        if (s.kind == event_kind::region || s.kind == event_kind::counter) {
            r.literals.try_emplace(s.argument, reinterpret_cast<const char*>(s.argument));
        }
    }
    for (const known_g& g : r.gs) add_place(g.site);
}

void add_process(recorded& r, const instant& at) {
    r.realtime_minus_monotonic_ns = at.realtime_ns - at.monotonic_ns;
    r.pid = static_cast<int>(::getpid());
    r.program = name_of_program();
}

}  // namespace weft::observe::detail
