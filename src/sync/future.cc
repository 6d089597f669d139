// future.cc: the untyped part of futures. See weft/detail/future_core.h.
#include <atomic>
#include <exception>
#include <future>
#include <memory>
#include <utility>

#include <weft/detail/owner.h>
#include <weft/error.h>
#include <weft/future.h>

#include "base/assert.h"
#include "os/os.h"
#include "sync/unobserved.h"

namespace weft {

namespace detail {

namespace {

constinit atomic<unobserved_exception_hook> unobserved_hook{nullptr};

}  // namespace

void check_not_oneself(const void* who) noexcept {
    if (who != nullptr && who == current_owner().who) {
        fatal(
            "a function waited for the weft::future of its own result, and would wait for ever; do not pass it that "
            "future");
    }
}

void report_unobserved(const std::exception_ptr& e, unobserved_source from, int64_t deadline_ns) noexcept {
    const char* const what = from == unobserved_source::future
                                 ? "an exception in a weft::future was never retrieved (call get() on the future)"
                                 : "an exception in a weft::scope was dropped, because the scope throws only its first "
                                   "one (catch it in the green thread)";
    report_unobserved(e, what, deadline_ns);
}

void report_unobserved(const std::exception_ptr& e, const char* what, int64_t deadline_ns) noexcept {
    try {
        std::rethrow_exception(e);
    } catch (const cancelled&) {
        return;  // requested
    } catch (const timed_out&) {
        if (deadline_ns <= now_ns()) return;  // the deadline requested it
    } catch (...) {}
    if (auto hook = unobserved_hook.load(acquire)) {  // pairs with set_unobserved_exception_hook
        hook(e);
        return;
    }
    try {
        std::rethrow_exception(e);
    } catch (const std::exception& known) {
        warn("%s: %s", what, known.what());
    } catch (...) {
        warn("%s; it is not a std::exception", what);
    }
}

void derivation::let_go() noexcept {
    lock_.lock();
    let_go_ = true;
    lock_.unlock();
}

std::shared_ptr<future_core> derivation::source(std::size_t index) noexcept {
    lock_.lock();
    std::shared_ptr<future_core> found = let_go_ ? nullptr : sources_[index].lock();
    lock_.unlock();
    return found;
}

void future_core::cancel() noexcept {
    derivation* const derived = derivation_;  // first: this may be freed once complete
    cancel_this();
    if (derived == nullptr || derived->cancelled_.exchange(true, acq_rel)) return;  // acq_rel: with another walk's
    std::shared_ptr<future_core> to_visit;  // a chain: derived and cancelled, but not yet their sources
    std::shared_ptr<future_core> visited;
    for (future_core* at = this; at != nullptr; at = visited.get()) {
        derivation& from = *at->derivation_;
        for (std::size_t i = 0; i < from.count_; ++i) {
            std::shared_ptr<future_core> source = from.source(i);
            if (source == nullptr) continue;
            source->cancel_this();
            derivation* const further = source->derivation_;
            if (further == nullptr || further->cancelled_.exchange(true, acq_rel)) continue;  // as above
            further->next_to_visit_ = std::exchange(to_visit, nullptr);
            to_visit = std::move(source);
        }
        visited = std::exchange(to_visit, nullptr);
        if (visited != nullptr) to_visit = std::move(visited->derivation_->next_to_visit_);
    }
}

void future_core::cancel_this() noexcept {
    context_.cancel();
    for (claim_state seen = claim_state::open;;) {
        if (seen == claim_state::open) {
            if (!claim_.compare_exchange_strong(seen, claim_state::taken, acquire, relaxed)) continue;  // A1
            error_ = std::make_exception_ptr(cancelled());
            complete();
            return;
        }
        if (seen != claim_state::taken) return;
        // acq_rel: pairs with unclaim, which then cancels. relaxed: examined again
        if (claim_.compare_exchange_strong(seen, claim_state::asked, acq_rel, relaxed)) return;
    }
}

future_core::future_core(cancel_context* parent, claim_state claim, derivation* derived) noexcept
    : context_(parent, never), fulfiller_(nullptr), derivation_(derived), claim_(claim) {
    pending_.increment();
}

future_core::~future_core() {
    if (error_ && !error_is_expected_) report_unobserved(error_, unobserved_source::future, context_.deadline_ns());
}

void future_core::begin() noexcept {
    fulfiller_.store(current_owner().who, relaxed);  // relaxed: compared with one's own name
}

void future_core::complete() noexcept {
    fulfiller_.store(nullptr, relaxed);  // relaxed: as in begin
    context_.detach();
    pending_.decrement();
}

bool future_core::wait_until(int64_t deadline_ns) {
    if (!pending_.is_zero()) [[unlikely]]
        check_not_oneself(fulfiller_.load(relaxed));  // relaxed: as in begin
    const wait_result result = pending_.wait_cancellable(wait_reason::future_get, deadline_ns, &fulfiller_);
    if (result != wait_result::served && result != wait_result::timed_out) [[unlikely]]
        throw_interrupted(result);
    return result == wait_result::served;
}

bool future_core::claim() noexcept {
    claim_state seen = claim_state::open;
    return claim_.compare_exchange_strong(seen, claim_state::taken, acquire, relaxed);  // A1
}

void future_core::unclaim() noexcept {
    claim_state seen = claim_state::taken;
    if (claim_.compare_exchange_strong(seen, claim_state::open, acq_rel, acquire)) return;  // R1
    error_ = std::make_exception_ptr(cancelled());
    complete();
}

void future_core::break_promise() noexcept {
    if (!claim()) return;
    error_ = std::make_exception_ptr(std::future_error(std::future_errc::broken_promise));
    error_is_expected_ = true;
    complete();
}

bool future_core::pass_error(future_core& to) noexcept {
    if (!error_) return false;
    to.error_is_expected_ = error_is_expected_;
    to.error_ = std::exchange(error_, nullptr);
    return true;
}

}  // namespace detail

unobserved_exception_hook set_unobserved_exception_hook(unobserved_exception_hook hook) noexcept {
    return detail::unobserved_hook.exchange(hook, detail::acq_rel);
}

}  // namespace weft
