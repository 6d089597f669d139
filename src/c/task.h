// task.h: what a green thread that C has started runs.
//
// A task is the closure of such a G: it lies in the G and is copied as bytes. It begins with the C function, whose address dumps show, and
// its argument. What is to be done when the function has ended, besides, is its own affair.
//
// See: weft/go.h
#pragma once

#include <new>
#include <type_traits>

#include <weft/detail/source_location.h>
#include <weft/go.h>
#include <weft/run/base.h>

namespace weft::detail {

// Task: a struct with members run(), which calls the C function and then end(), and end(), which is also called if the C function ends its
// green thread from within. Its first member is the address of the C function.
template <typename Task>
inline constexpr entry_type task_entry = {
    [](void* closure) { static_cast<Task*>(closure)->run(); },
    [](void* /*closure*/) noexcept {},
    sizeof(Task),
    alignof(Task),
    [](void* closure) { static_cast<Task*>(closure)->end(); },
};

// Starts task as a green thread of the caller's runtime or the default one. Throws as weft::go. options may be nullptr.
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
