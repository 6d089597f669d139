// report_hook.cc: see report_hook.h.
#include "base/report_hook.h"

#include "base/atomic.h"

namespace weft::detail {

namespace {

constinit atomic<void (*)(reported) noexcept> report_hooks[static_cast<unsigned>(report_user::count)] = {};

}  // namespace

void set_report_hook(report_user user, void (*hook)(reported what) noexcept) noexcept {
    report_hooks[static_cast<unsigned>(user)].store(hook, release);  // pairs with call_report_hook
}

void call_report_hook(reported what) noexcept {
    for (const auto& place : report_hooks)
        if (auto hook = place.load(acquire)) hook(what);  // from set_report_hook
}

}  // namespace weft::detail
