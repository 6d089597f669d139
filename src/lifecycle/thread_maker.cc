// thread_maker.cc: see thread_maker.h.
#include "lifecycle/thread_maker.h"

#include <utility>

#include <weft/detail/wait.h>

#include "context/sanitizer.h"

namespace weft::detail {

void thread_maker::start() noexcept {
    uint32_t seen = none;
    // acq_rel: one caller starts it; acquire: sees what that one wrote
    if (!state_.compare_exchange_strong(seen, starting, acq_rel, acquire)) return;
    const int error = os::start_thread(thread_, &run, this);
    state_.store(error == 0 ? there : none, release);  // pairs with make
}

int thread_maker::make(os::thread_id& id, void* (*body)(void*), void* argument) noexcept {
    uint32_t state = state_.load(acquire);  // pairs with start
    for (uint32_t attempt = 0; state == starting; ++attempt) {
        spin_backoff(attempt);
        state = state_.load(acquire);  // as above
    }
    if (state == none) return os::start_thread(id, body, argument);
    order mine{&id, body, argument, 0, {}, nullptr};
    lock_.lock();
    mine.next = orders_;
    orders_ = &mine;
    lock_.unlock();
    wanted_.wake();
    mine.done.sleep(never);
    return mine.error;
}

void* thread_maker::run(void* self) noexcept {
    const internals all;
    auto& maker = *static_cast<thread_maker*>(self);
    maker.tid_.store(os::current_tid(), release);  // pairs with tid
    os::name_thread("weft-maker");
    for (;;) {
        maker.wanted_.sleep(never);
        maker.wanted_.reset();  // before the check: a later order wakes us again
        maker.lock_.lock();
        order* todo = std::exchange(maker.orders_, nullptr);
        const bool ends = maker.ending_;
        maker.lock_.unlock();
        while (todo != nullptr) {
            order& o = *std::exchange(todo, todo->next);
            o.error = os::start_thread(*o.id, o.body, o.argument);
            o.done.wake();  // o may be gone
        }
        if (ends) return nullptr;
    }
}

void thread_maker::end() noexcept {
    if (state_.load(acquire) != there) return;  // pairs with start
    lock_.lock();
    ending_ = true;
    lock_.unlock();
    wanted_.wake();
    os::join_thread(thread_);
    state_.store(none, relaxed_alone);
}

}  // namespace weft::detail
