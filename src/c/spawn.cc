// spawn.cc: see weft/run/spawn.h.
#include "c/spawn.h"

#include "c/place.h"
#include "c/status.h"
#include "c/task.h"
#include "handoff/pin.h"
#include "sched/switch.h"

namespace weft::detail {

namespace {

bool read_labels(const run_label_t* labels, std::size_t count, label_set& into) {
    for (std::size_t i = 0; i < count; ++i) {
        if (labels[i].key == nullptr || labels[i].value == nullptr) return false;
        into = into.with(labels[i].key, labels[i].value);
    }
    return true;
}

bool is_priority(run_priority_t p) noexcept { return p >= RUN_PRIORITY_NORMAL && p <= RUN_PRIORITY_LOW; }

// The normal class is 0 in C, for options filled with zeros; in C++ classes are ordered.
priority class_of(run_priority_t p) noexcept {
    return p == RUN_PRIORITY_HIGH ? priority::high : p == RUN_PRIORITY_LOW ? priority::low : priority::normal;
}

run_priority_t name_of(priority p) noexcept {
    return p == priority::high ? RUN_PRIORITY_HIGH : p == priority::low ? RUN_PRIORITY_LOW : RUN_PRIORITY_NORMAL;
}

}  // namespace

bool read_spawn_options(const run_spawn_opts_t* from, spawn_options& into) {
    run_spawn_opts_t o = RUN_SPAWN_OPTS_INIT;
    if (!read_options(from, o) || !is_priority(o.priority)) return false;
    if (o.label_count != 0 && (o.labels == nullptr || !read_labels(o.labels, o.label_count, into.labels))) return false;
    if (o.name != nullptr) into.name = o.name;
    into.stack_size = o.stack_size;
    into.priority = class_of(o.priority);
    into.own_fp_control = o.own_fp_control;
    into.preemptible = o.preemptible;
    return true;
}

namespace {

struct plain_task {
    void (*fn)(void*);
    void* arg;

    void run() { fn(arg); }

    void end() noexcept {}
};

}  // namespace

}  // namespace weft::detail

using namespace weft::detail;

run_status_t(run_spawn)(void (*fn)(void*), void* arg) noexcept {
    return run_spawn_at(nullptr, fn, arg, nullptr, 0, nullptr);
}

run_status_t(run_spawn_with)(const run_spawn_opts_t* opts, void (*fn)(void*), void* arg) noexcept {
    return run_spawn_at(opts, fn, arg, nullptr, 0, nullptr);
}

run_status_t run_spawn_at(const run_spawn_opts_t* opts,
                          void (*fn)(void*),
                          void* arg,
                          const char* file,
                          int line,
                          const char* function) noexcept {
    return spawn_for_c(plain_task{fn, arg}, opts, file, line, function);
}

bool run_yield(void) noexcept { return current_g_m() != nullptr && weft::yield(); }

void run_checkpoint(void) noexcept { weft::checkpoint(); }

uint64_t run_g_id(void) noexcept { return weft::this_g::id(); }

run_status_t run_set_name(const char* name) noexcept {
    weft::this_g::set_name(name == nullptr ? std::string_view{} : name);
    return RUN_OK;
}

run_status_t run_set_label(const char* key, const char* value) noexcept {
    if (key == nullptr || value == nullptr) return RUN_INVALID;
    return guarded_call([=] { weft::this_g::set_label(key, value); });
}

run_status_t run_set_priority(run_priority_t priority) noexcept {
    if (!is_priority(priority)) return RUN_INVALID;
    weft::this_g::set_priority(class_of(priority));
    return RUN_OK;
}

run_priority_t run_get_priority(void) noexcept { return name_of(weft::this_g::priority()); }

run_status_t run_pin(void) noexcept {
    if (M* m = current_g_m()) pin_g(m);
    return RUN_OK;
}

run_status_t run_unpin(void) noexcept {
    M* m = current_g_m();
    return m != nullptr && unpin_g(m) ? RUN_OK : RUN_INVALID;
}

const char* run_g_name(void) noexcept {
    const M* m = current_g_m();
    return m == nullptr ? "" : m->g->name_or_empty();
}
