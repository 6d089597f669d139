// spawn_resources.h: spawn resources: a G's large closure, locals and labels.
//
// Made before the G is taken: that may throw or park. The destructor frees what no G was given.
//
// Threads: the thread that starts a G, outside the runtime.
#pragma once

#include <new>
#include <utility>

#include <weft/detail/allocate.h>
#include <weft/go.h>

#include "per_g/labels.h"
#include "per_g/local.h"
#include "sched/g.h"

namespace weft::detail {

// Memory for a closure; nullptr: the G has room. Throws std::bad_alloc. Sanitizers know when
// allocated memory is reused, so they report errors in closures.
[[nodiscard]] inline void* allocate_closure(const entry_type& entry) {
    if (!sanitized && entry.size <= G::inline_closure_size && entry.align <= G::inline_closure_align) return nullptr;
    return allocate(entry.size, entry.align);
}

inline void free_closure(const entry_type& entry, void* closure) noexcept {
    if (closure != nullptr) deallocate(closure, entry.align);
}

class spawn_resources {
public:
    explicit spawn_resources(const entry_type& entry) : entry_(entry), closure_(allocate_closure(entry)) {}

    ~spawn_resources() {
        free_closure(entry_, closure_);
        discard_locals(locals_);
    }

    spawn_resources(const spawn_resources&) = delete;
    spawn_resources& operator=(const spawn_resources&) = delete;

    // starter: nullptr for a plain thread. Runs user code, which may throw or park.
    void add(const spawn_options& options, const G* starter) {
        if (!options.labels.empty()) {
            labels_ = starter == nullptr ? options.labels : labels_of(*starter).with(options.labels);
        }
        if (options.inherit_locals && starter != nullptr && (starter->traits & trait::locals) != 0) {
            locals_ = starter->locals->copy();
        }
    }

    void give_to(G* g) noexcept {
        if (closure_ != nullptr) g->set_closure_outside(std::exchange(closure_, nullptr));
        if (locals_ != nullptr) {
            g->locals = std::exchange(locals_, nullptr);
            g->traits |= trait::locals;
        }
        if (!labels_.empty()) replace_labels(*g, std::move(labels_));
    }

private:
    const entry_type& entry_;
    void* closure_;
    local_table* locals_ = nullptr;
    label_set labels_;
};

}  // namespace weft::detail
