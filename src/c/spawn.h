// spawn.h: what all functions of the C interface that start green threads share.
//
// See: weft/run/spawn.h, c/task.h
#pragma once

#include <weft/go.h>
#include <weft/run/spawn.h>

#include "c/place.h"
#include "c/status.h"
#include "c/task.h"

namespace weft::detail {

// False: they make no sense. Throws std::bad_alloc.
[[nodiscard]] bool read_spawn_options(const run_spawn_opts_t* from, spawn_options& into);

// Starts task, as a function of the C interface has to.
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
