// mailbox.cc: see mailbox.h.
#include "http_client/mailbox.h"

#include <mutex>
#include <utility>

namespace weft::http::detail {

using guard = std::lock_guard<weft::mutex>;

bool mailbox::post(transfer& what, bool wanted::* mark) noexcept {
    {
        const guard held(lock_);
        if (is_closed_) return false;
        what.orders.marks.*mark = true;
        if (!what.orders.is_queued) {
            what.orders.is_queued = true;
            std::shared_ptr<transfer>& end = last_ == nullptr ? first_ : last_->orders.next;
            end = what.shared_from_this();
            last_ = &what;
        }
    }
    static_cast<void>(wake_.try_send(true));  // a full one wakes, too
    return true;
}

void mailbox::close() noexcept {
    {
        const guard held(lock_);
        is_closed_ = true;
    }
    static_cast<void>(wake_.try_send(true));
}

mailbox::order mailbox::take() noexcept {
    const guard held(lock_);
    if (first_ == nullptr) return {};
    order taken{std::move(first_), {}};
    transfer& of = *taken.of;
    first_ = std::move(of.orders.next);
    if (first_ == nullptr) last_ = nullptr;
    taken.what = std::exchange(of.orders.marks, {});
    of.orders.is_queued = false;
    return taken;
}

bool mailbox::is_closed() noexcept {
    const guard held(lock_);
    return is_closed_;
}

}  // namespace weft::http::detail
