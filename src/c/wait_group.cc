// wait_group.cc: see weft/run/wait_group.h.
#include <new>

#include <weft/detail/count_word.h>
#include <weft/detail/locals.h>
#include <weft/run/wait_group.h>

#include "c/spawn.h"

struct run_wait_group {
    weft::detail::count_word count;

    ~run_wait_group() { count.check_destroyed(); }
};

namespace {

using namespace weft::detail;

struct group_task {
    void (*fn)(void*);
    void* arg;
    run_wait_group* group;

    void run() {
        fn(arg);
        end();
    }

    void end() const noexcept {
        end_locals();
        group->count.decrement();
    }
};

}  // namespace

run_status_t run_wait_group_make(run_wait_group_t** group) noexcept {
    if (group == nullptr) return RUN_INVALID;
    *group = new (std::nothrow) run_wait_group;
    return *group == nullptr ? RUN_EXHAUSTED : RUN_OK;
}

void run_wait_group_free(run_wait_group_t* group) noexcept { delete group; }

run_status_t run_wait_group_add(run_wait_group_t* group, int n) noexcept {
    if (group == nullptr) return RUN_INVALID;
    group->count.add(n);
    return RUN_OK;
}

run_status_t run_wait_group_done(run_wait_group_t* group) noexcept {
    if (group == nullptr) return RUN_INVALID;
    group->count.decrement();
    return RUN_OK;
}

run_status_t run_wait_group_wait(run_wait_group_t* group) noexcept {
    if (group == nullptr) return RUN_INVALID;
    group->count.wait(wait_reason::wait_group_wait);
    return RUN_OK;
}

run_status_t run_wait_group_wait_for(run_wait_group_t* group, int64_t timeout_ns) noexcept {
    if (group == nullptr) return RUN_INVALID;
    const int64_t deadline_ns = deadline_of(timeout_ns);
    return status_of(group->count.wait_cancellable(wait_reason::wait_group_wait, deadline_ns), deadline_ns);
}

run_status_t(run_wait_group_go)(run_wait_group_t* group, void (*fn)(void*), void* arg) noexcept {
    return run_wait_group_go_at(group, nullptr, fn, arg, nullptr, 0, nullptr);
}

run_status_t run_wait_group_go_at(run_wait_group_t* group,
                                  const run_spawn_opts_t* opts,
                                  void (*fn)(void*),
                                  void* arg,
                                  const char* file,
                                  int line,
                                  const char* function) noexcept {
    if (group == nullptr) return RUN_INVALID;
    group->count.increment();
    const run_status_t status = spawn_for_c(group_task{fn, arg, group}, opts, file, line, function);
    if (status != RUN_OK) group->count.decrement();
    return status;
}
