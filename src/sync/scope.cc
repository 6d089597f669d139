// scope.cc: the untyped part of weft::scope and of the ambient context's readers.
#include <algorithm>
#include <stdexcept>

#include <weft/scope.h>

#include "sched/simulation.h"
#include "sched/switch.h"
#include "wait/interrupt.h"

namespace weft {

namespace {

bool is_interruption(const std::exception_ptr& e) noexcept {
    try {
        std::rethrow_exception(e);
    } catch (const cancelled&) {
        return true;
    } catch (const timed_out&) {
        return true;
    } catch (...) {
        return false;
    }
}

}  // namespace

void task_scope::limit(std::ptrdiff_t n) {
    if (n <= 0) throw std::invalid_argument("weft: task_scope::limit: the limit must be positive");
    if (places_) throw std::logic_error("weft: task_scope::limit: the scope has a limit already");
    places_.emplace(std::min(n, (counting_semaphore<>::max)()));
}

void task_scope::cancel() noexcept {
    failed_lock_.lock();
    ends_early_ = true;
    failed_lock_.unlock();
    context_.cancel();
}

void task_scope::keep(const std::exception_ptr& e) noexcept {
    const bool interrupted = is_interruption(e);
    failed_lock_.lock();
    const bool is_consequence = interrupted && ends_early_;
    const bool is_first = !is_consequence && !first_;
    ends_early_ = true;
    if (is_first) {
        first_ = e;
    } else if (!is_consequence) {
        ++further_;
    }
    failed_lock_.unlock();
    if (is_first) {
        context_.cancel();
    } else if (!is_consequence) {
        detail::report_unobserved(e, detail::unobserved_source::scope);
    }
}

std::size_t task_scope::further_exceptions() noexcept {
    failed_lock_.lock();
    const std::size_t n = further_;
    failed_lock_.unlock();
    return n;
}

void throw_if_cancelled() {
    if (detail::simulates()) detail::let_time_pass();
    detail::cancel_context* context = detail::heeded_context(detail::current_g_m());
    if (detail::stop_reaches(detail::current_g_m())) {
        if (context != nullptr) context->cancel_all_around();
        detail::throw_interrupted(detail::wait_result::cancelled);
    }
    if (context == nullptr) return;
    const bool is_cancelled = context->requested();
    if (!is_cancelled && context->deadline_ns() > detail::now_ns()) return;
    const auto why = is_cancelled ? detail::wait_result::cancelled : detail::wait_result::expired;
    context->tell_tokens(why);
    detail::throw_interrupted(why);
}

}  // namespace weft
