// subject.h: a runtime that is observed, and may end meanwhile.
//
// A subject keeps the recording of a runtime, which outlives the runtime and knows its scheduler.
// use() pins that scheduler, so that it is not destroyed while it is read. A pin that came too late
// must not be used:
//
//      observer                             stop_scheduler
//      1  changing.lock(): s lives          1  stopping = true
//      2  external_refs + 1                 2  waits until external_refs == 0
//      3  heavy fence                       3  destroys s: changing.lock(), of = nullptr
//      4  stopping: external_refs - 1
//      5  changing.unlock()
//
// Either step 4 of the observer sees stopping, or step 2 of the stop sees the pin. And s is not
// destroyed between 1 and 5.
//
// Threads: any.
#pragma once

#include <memory>
#include <utility>

#include <weft/runtime.h>

#include "sched/recording.h"

namespace weft::observe::detail {

// Keeps a scheduler alive; empty: it is stopped.
class pinned_subject {
public:
    explicit pinned_subject(weft::detail::scheduler* s) noexcept : s_(s) {}

    ~pinned_subject();

    pinned_subject(pinned_subject&& other) noexcept : s_(std::exchange(other.s_, nullptr)) {}

    pinned_subject(const pinned_subject&) = delete;
    pinned_subject& operator=(const pinned_subject&) = delete;

    explicit operator bool() const noexcept { return s_ != nullptr; }

    weft::detail::scheduler& operator*() const noexcept { return *s_; }

    weft::detail::scheduler* operator->() const noexcept { return s_; }

private:
    weft::detail::scheduler* s_;
};

class subject {
public:
    // The runtime of the calling green thread, or the default one, which is started if it does not
    // run. Throws as starting it does.
    subject() : source_(weft::detail::recording_of_caller()) {}

    // Throws std::logic_error, which begins with `what`, if the runtime is stopped.
    subject(const runtime& of, const char* what);

    [[nodiscard]] pinned_subject use() const noexcept;

    [[nodiscard]] const std::shared_ptr<weft::detail::recording>& source() const noexcept { return source_; }

private:
    std::shared_ptr<weft::detail::recording> source_;
};

}  // namespace weft::observe::detail
