// task.h: the closure of a green thread that C code has started.
//
// A task lies in the G and is copied as bytes. It begins with the address of the C function, which
// dumps show.
//
// See: weft/go.h
#pragma once

#include <new>
#include <type_traits>

#include <weft/detail/source_location.h>
#include <weft/go.h>
#include <weft/run/base.h>

namespace weft::detail {

// run() calls the C function and then end(). end() is also called if the C function ends its green
// thread from within.
template <typename Task>
inline constexpr entry_type task_entry = {
    [](void* closure) { static_cast<Task*>(closure)->run(); },
    [](void* /*closure*/) noexcept {},
    sizeof(Task),
    alignof(Task),
    [](void* closure) { static_cast<Task*>(closure)->end(); },
};

// Starts task in the caller's runtime or the default one. options may be nullptr. Throws as
// weft::go.
template <typename Task>
void spawn_task(const Task& task, const spawn_options* options, source_location where) {
    static_assert(std::is_trivially_copyable_v<Task> && std::is_standard_layout_v<Task>);
    static_assert(sizeof(Task) <= copied_closure_max && sizeof(Task) % 8 == 0 && alignof(Task) <= 8);
    if (options == nullptr) {
        spawn_copy(task_entry<Task>, &task, where);
        return;
    }
    const spawning made = spawn_begin(nullptr, options, task_entry<Task>, where);
    ::new (made.closure) Task(task);
    spawn_commit(made.g);
}

}  // namespace weft::detail
