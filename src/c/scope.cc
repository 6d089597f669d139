// scope.cc: see weft/run/scope.h, and in C++ weft/scope.h.
#include <new>

#include <weft/cancel.h>
#include <weft/detail/cancel.h>
#include <weft/detail/count_word.h>
#include <weft/detail/locals.h>
#include <weft/run/scope.h>

#include "c/spawn.h"

struct run_scope {
    explicit run_scope(int64_t deadline_ns) noexcept
        : before(weft::detail::ambient()), context(weft::detail::enclosing_context(), deadline_ns) {}

    // Cancels the scope. code: of the failed task; 0 for run_scope_cancel.
    void end_early(int code) noexcept {
        lock.lock();
        if (first_failure == 0) first_failure = code;
        lock.unlock();
        context.cancel();
    }

    weft::detail::cancel_context* const before;  // ambient again after the scope
    weft::detail::cancel_context context;
    weft::detail::count_word running;
    weft::detail::spin_lock lock;
    int first_failure = 0;  // guarded by lock
};

namespace {

using namespace weft::detail;

struct scope_task {
    int (*fn)(void*);
    void* arg;
    run_scope* scope;
    cancel_context* own;  // in the frame of run()

    void run() {
        alignas(cancel_context) std::byte frame[sizeof(cancel_context)];
        own = ::new (static_cast<void*>(frame)) cancel_context(&scope->context, never);
        exchange_ambient(own, true);
        const int code = fn(arg);
        if (code != 0) scope->end_early(code);
        end();
    }

    void end() const noexcept {
        exchange_ambient(nullptr, false);
        own->~cancel_context();
        end_locals();
        scope->running.decrement();
    }
};

}  // namespace

run_status_t run_scope_begin(run_scope_t** scope) noexcept { return run_scope_begin_with(scope, nullptr); }

run_status_t run_scope_begin_with(run_scope_t** scope, const run_scope_opts_t* opts) noexcept {
    run_scope_opts_t o = RUN_SCOPE_OPTS_INIT;
    if (scope == nullptr || !read_options(opts, o)) return RUN_INVALID;
    // For a timeout of zero the deadline is now: 0 would mean that waits do not wait.
    const int64_t deadline_ns = o.timeout_ns <= 0 ? now_ns() : deadline_of(o.timeout_ns);
    *scope = new (std::nothrow) run_scope(deadline_ns);
    if (*scope == nullptr) return RUN_EXHAUSTED;
    exchange_ambient(&(*scope)->context, false);
    return RUN_OK;
}

run_status_t(run_scope_go)(run_scope_t* scope, int (*fn)(void*), void* arg) noexcept {
    return run_scope_go_at(scope, nullptr, fn, arg, nullptr, 0, nullptr);
}

run_status_t run_scope_go_at(run_scope_t* scope,
                             const run_spawn_opts_t* opts,
                             int (*fn)(void*),
                             void* arg,
                             const char* file,
                             int line,
                             const char* function) noexcept {
    if (scope == nullptr) return RUN_INVALID;
    scope->running.increment();
    const run_status_t status = spawn_for_c(scope_task{fn, arg, scope, nullptr}, opts, file, line, function);
    if (status != RUN_OK) scope->running.decrement();
    return status;
}

run_status_t run_scope_cancel(run_scope_t* scope) noexcept {
    if (scope == nullptr) return RUN_INVALID;
    scope->end_early(0);
    return RUN_OK;
}

bool run_scope_is_cancelled(run_scope_t* scope) noexcept {
    if (scope == nullptr) return false;
    const int64_t deadline_ns = scope->context.deadline_ns();
    return scope->context.requested() || (deadline_ns != never && deadline_ns <= now_ns());
}

run_status_t run_scope_join(run_scope_t* scope, int* first_failure) noexcept {
    if (scope == nullptr || ambient() != &scope->context) return RUN_INVALID;
    scope->running.wait(wait_reason::scope_join);
    exchange_ambient(scope->before, false);
    const int code = scope->first_failure;  // all tasks that may have written it have ended
    const bool cancelled = scope->context.requested();
    delete scope;
    if (first_failure != nullptr && code != 0) *first_failure = code;
    if (code != 0) return RUN_FAILED;
    return cancelled ? RUN_CANCELLED : RUN_OK;
}

run_status_t run_cancel_status(void) noexcept {
    return guarded_call([] { weft::throw_if_cancelled(); });
}

void* run_shield_begin(void) noexcept { return exchange_ambient(shield_context(), false); }

void run_shield_end(void* shielded) noexcept { exchange_ambient(static_cast<cancel_context*>(shielded), false); }
