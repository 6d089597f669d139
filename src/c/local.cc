// local.cc: see weft/run/local.h, weft/local.h.
#include <new>

#include <weft/local.h>
#include <weft/run/local.h>

#include "c/status.h"
#include "sched/switch.h"

struct run_local_key {
    weft::detail::local_key key;
    void (*destructor)(void*);
};

namespace {

using namespace weft::detail;

// Stores the destructor, because the key may be deleted first.
struct pointer_node : local_node {
    static const local_type type_of_node;

    pointer_node(void* v, void (*d)(void*)) noexcept : local_node(type_of_node), value(v), destructor(d) {}

    void* value;
    void (*destructor)(void*);
};

const local_type pointer_node::type_of_node = {
    [](local_node* n) noexcept {
        auto* self = static_cast<pointer_node*>(n);
        if (self->value != nullptr && self->destructor != nullptr) self->destructor(self->value);
        delete self;
    },
    [](local_node* n) noexcept { delete static_cast<pointer_node*>(n); },
    nullptr,
};

pointer_node* find(const run_local_key* key) noexcept { return static_cast<pointer_node*>(local_find(key->key)); }

}  // namespace

run_status_t run_local_key_create(run_local_key_t** key, void (*destructor)(void*)) noexcept {
    if (key == nullptr) return RUN_INVALID;
    *key = nullptr;
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): guarded_call catches
    return guarded_call([=] { *key = new run_local_key{{}, destructor}; });
}

run_status_t run_local_key_delete(run_local_key_t* key) noexcept {
    if (key == nullptr) return RUN_INVALID;
    local_drop(key->key);
    delete key;
    return RUN_OK;
}

void* run_local_get(const run_local_key_t* key) noexcept {
    if (key == nullptr || current_g_m() == nullptr) return nullptr;
    const pointer_node* n = find(key);
    return n == nullptr ? nullptr : n->value;
}

run_status_t run_local_set(const run_local_key_t* key, void* value) noexcept {
    if (key == nullptr || current_g_m() == nullptr) return RUN_INVALID;
    if (pointer_node* n = find(key)) {
        n->value = value;
        return RUN_OK;
    }
    if (value == nullptr) return RUN_OK;
    return guarded_call([=] {
        local_announce(key->key);
        auto* made = new (std::nothrow) pointer_node(value, key->destructor);
        if (made == nullptr) {
            local_give_up(key->key);
            return RUN_EXHAUSTED;
        }
        local_give(key->key, made);
        return RUN_OK;
    });
}
