// session.h: one consumer of the events of a runtime: what a recorder consists of.
//
// Threads: any.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include <weft/observe/recorder.h>

#include "observe/recorded.h"
#include "observe/ring_reader.h"
#include "sched/recording.h"

namespace weft::observe::detail {

// Records while it exists.
struct session {
    // Throws std::bad_alloc, std::system_error.
    session(std::shared_ptr<weft::detail::recording> of, const recorder_options& options);
    ~session();

    session(const session&) = delete;
    session& operator=(const session&) = delete;

    // As recorder::snapshot.
    [[nodiscard]] std::shared_ptr<const recorded> snapshot(std::chrono::nanoseconds window) const;

    const std::shared_ptr<weft::detail::recording> source;
    const green_thread_filter only;
    const instant began;
    std::vector<live_g> at_begin;  // immutable after the constructor
};

}  // namespace weft::observe::detail
