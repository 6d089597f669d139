// report_hook.cc: see report_hook.h.
#include "base/report_hook.h"

#include "base/atomic.h"

namespace weft::detail {

namespace {

constinit atomic<void (*)(reported) noexcept> report_hook{nullptr};

}  // namespace

void set_report_hook(void (*hook)(reported what) noexcept) noexcept {
    report_hook.store(hook, release);  // pairs with call_report_hook
}

void call_report_hook(reported what) noexcept {
    if (auto hook = report_hook.load(acquire)) hook(what);  // from set_report_hook
}

}  // namespace weft::detail
