// spawn.h: shared by all functions of the C interface that start green threads.
//
// See: weft/run/spawn.h, c/task.h
#pragma once

#include <weft/go.h>
#include <weft/run/spawn.h>

#include "c/place.h"
#include "c/status.h"
#include "c/task.h"

namespace weft::detail {

// Returns false if the options are invalid. Throws std::bad_alloc.
[[nodiscard]] bool read_spawn_options(const run_spawn_opts_t* from, spawn_options& into);

template <typename Task>
run_status_t spawn_for_c(
    const Task& task, const run_spawn_opts_t* opts, const char* file, int line, const char* function) noexcept {
    if (task.fn == nullptr) return RUN_INVALID;
    return guarded_call([&] {
        const source_location where = place_of(file, line, function);
        if (opts == nullptr) {
            spawn_task(task, nullptr, where);
            return RUN_OK;
        }
        spawn_options options;
        if (!read_spawn_options(opts, options)) return RUN_INVALID;
        spawn_task(task, &options, where);
        return RUN_OK;
    });
}

}  // namespace weft::detail
