// held.cc: see held.h.
#include "per_g/held.h"

#include <cstdint>

#include "lifecycle/crash.h"
#include "lifecycle/report.h"
#include "os/os.h"
#include "sched/scheduler.h"
#include "sched/switch.h"
#include "stack/read_frames.h"

namespace weft::detail {

namespace {

constexpr uint32_t places = 1024;
constexpr uint32_t probes = 16;
constexpr uint32_t sites_max = 64;

// If the standard library is not inlined, the first three frames are its own, so a place is known
// by four.
struct lock_site {
    static constexpr int frames = 4;

    const void* pcs[frames] = {};

    friend bool operator==(const lock_site&, const lock_site&) = default;
};

struct held {
    const G* g = nullptr;  // nullptr: free
    uint64_t id = 0;
    uint32_t count = 0;
    const void* mutex = nullptr;  // the first one
    lock_site site;               // where it was locked
};

constinit spin_lock table_lock;
// Guarded by table_lock.
constinit held table[places];
constinit lock_site reported_sites[sites_max];
constinit uint32_t reported = 0;

// Returns g's entry, or with or_free a free one; nullptr: none.
held* find_locked(const G& g, bool or_free) noexcept {
    const auto begin = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&g) / sizeof(G));
    held* free = nullptr;
    for (uint32_t i = 0; i < probes; ++i) {
        held& h = table[(begin + i) % places];
        if (h.g == &g && h.id == g.id) return &h;
        const bool left_behind = h.g == &g;  // by a G that ended holding it
        if (left_behind) h = {};
        if (h.g == nullptr && free == nullptr) free = &h;
    }
    return or_free ? free : nullptr;
}

G* caller() noexcept {
    const M* m = current_m();
    if (m == nullptr) return nullptr;
    return m->g != nullptr ? m->g : m->lent_by;
}

bool is_new_locked(const lock_site& site) noexcept {
    for (uint32_t i = 0; i < reported; ++i) {
        if (reported_sites[i] == site) return false;
    }
    if (reported == sites_max) return false;
    reported_sites[reported++] = site;
    return true;
}

lock_site site_of(const G& g, const void* pc, const void* frame) noexcept {
    lock_site site;
    const int count =
        g.stack == nullptr ? 0 : read_frames(nullptr, frame, frame, *g.stack, site.pcs, lock_site::frames);
    if (count == 0) site.pcs[0] = pc;
    return site;
}

}  // namespace

void free_held_lock() noexcept { table_lock.reset_after_fork(); }

void note_locked(const void* mutex, const void* pc, const void* frame) noexcept {
    G* g = caller();
    if (g == nullptr) return;
    table_lock.lock();
    held* h = find_locked(*g, true);
    const bool first = h != nullptr && h->g == nullptr;
    if (first) *h = {g, g->id, 0, mutex, site_of(*g, pc, frame)};
    if (h != nullptr) ++h->count;
    table_lock.unlock();
    if (first) g->special.fetch_or(special::holds, relaxed);  // relaxed: only the G itself changes it
}

void note_unlocked(const void* mutex) noexcept {
    G* g = caller();
    if (g == nullptr || (g->special.load(relaxed) & special::holds) == 0) return;  // relaxed: as above
    table_lock.lock();
    held* h = find_locked(*g, false);
    const bool last = h == nullptr || --h->count == 0;
    if (last && h != nullptr) *h = {};
    if (!last && h->mutex == mutex) h->mutex = nullptr;  // the remaining ones were locked later
    table_lock.unlock();
    // relaxed: as above
    if (last) g->special.fetch_and(static_cast<uint16_t>(~special::holds), relaxed);
}

void report_held_mutex(const G& g, const void* frame) noexcept {
    table_lock.lock();
    const held* h = find_locked(g, false);
    const held seen = h == nullptr ? held{} : *h;
    const bool tell = h != nullptr && is_new_locked(seen.site);
    table_lock.unlock();
    if (!tell) return;
    report out(os::stderr_fd);
    out.print("weft: ");
    print_identity(out, g);
    out.print(
        "\nweft: leaves its OS thread (it waits, yields or ends) while it holds %u mutex%s of the system: the next "
        "green thread that locks %s on this thread blocks it; use weft::mutex\n",
        seen.count, seen.count == 1 ? "" : "es", seen.count == 1 ? "it" : "one");
    out.print("weft: mutex 0x%zx, locked at\n", reinterpret_cast<uintptr_t>(seen.mutex));
    int count = 0;
    while (count < lock_site::frames && seen.site.pcs[count] != nullptr) ++count;
    out.frames(seen.site.pcs, count, {});
    out.print("weft: it leaves the thread at\n");
    out.backtrace(nullptr, frame, *g.stack);
}

}  // namespace weft::detail
