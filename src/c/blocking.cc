// blocking.cc: see weft/run/blocking.h.
#include "handoff/blocking.h"

#include <cerrno>

#include <weft/detail/cancel.h>
#include <weft/run/blocking.h>

namespace {

using namespace weft::detail;

static_assert(sizeof(run_blocking_site_t) == sizeof(call_site) && alignof(run_blocking_site_t) == alignof(call_site));

// For calls without a site: always handed off late.
constinit call_site nowhere;

call_site& site_of(run_blocking_site_t* site) noexcept {
    return site == nullptr ? nowhere : *reinterpret_cast<call_site*>(site);
}

weft::hand_off when(const run_blocking_site_t* site) noexcept {
    return site == nullptr ? weft::hand_off::late : weft::hand_off::learned;
}

void enter_from(const run_context_t& at, run_blocking_call_t* call, run_blocking_site_t* site) noexcept {
    open_call open{};
    begin_blocking(open, site_of(site), when(site), at);
    *call = {open.m, open.began_ns, open.context_before, site};
}

class function_call : public declared_call<function_call> {
public:
    function_call(void (*function)(void*), void* argument) noexcept : function_(function), argument_(argument) {}

    void made() const noexcept { function_(argument_); }

private:
    void (*function_)(void*);
    void* argument_;
};

}  // namespace

void run_blocking_enter(run_blocking_call_t* call) noexcept { enter_from(find_caller(), call, nullptr); }

void run_blocking_enter_at(run_blocking_call_t* call, run_blocking_site_t* site) noexcept {
    enter_from(find_caller(), call, site);
}

void run_blocking_exit(run_blocking_call_t* call) noexcept {
    const int kept_errno = errno;
    const open_call open{static_cast<M*>(call->m), call->began_ns, static_cast<cancel_context*>(call->context),
                         nullptr};
    // A scope that was begun in the call and not ended must not stay on the thread.
    if (open.m != nullptr) exchange_ambient(open.context_before, false);
    end_blocking(open, site_of(call->site));
    *call = {};
    errno = kept_errno;
}

run_status_t run_blocking(run_blocking_site_t* site, void (*fn)(void*), void* arg) noexcept {
    if (fn == nullptr) return RUN_INVALID;
    function_call call(fn, arg);
    open_call open;
    weft::detail::begin_blocking(open, site_of(site), when(site));
    call.make(open);
    end_blocking(open, site_of(site));
    return RUN_OK;
}
