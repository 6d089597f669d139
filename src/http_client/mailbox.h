// mailbox.h: what callers want of a driver: to start, resume or abandon a transfer, and to end.
//
// A list through the transfers themselves, so posting allocates nothing: destructors and
// interrupted callers do it. Each transfer is in it at most once, with all that is wanted of it.
//
// Locks:   lock_. It is held for a few instructions.
// Threads: any thread posts; the driver takes.
#pragma once

#include <memory>

#include <weft/chan.h>
#include <weft/mutex.h>

#include "http_client/transfer.h"

namespace weft::http::detail {

class mailbox {
public:
    // Returns false if the mailbox is closed: no driver will run it.
    [[nodiscard]] bool start(transfer& what) noexcept { return post(what, &wanted::start); }

    // After close() these two do nothing.
    void resume(transfer& what) noexcept { static_cast<void>(post(what, &wanted::resume)); }

    void abandon(transfer& what) noexcept { static_cast<void>(post(what, &wanted::abandon)); }

    // Asks the driver to end.
    void close() noexcept;

    // Receives after something was posted.
    [[nodiscard]] const weft::chan<bool>& wake() const noexcept { return wake_; }

    struct order {
        std::shared_ptr<transfer> of;  // nullptr: the mailbox is empty
        wanted what;
    };

    // Takes the oldest order.
    [[nodiscard]] order take() noexcept;

    [[nodiscard]] bool is_closed() noexcept;

private:
    [[nodiscard]] bool post(transfer& what, bool wanted::* mark) noexcept;

    weft::mutex lock_;
    weft::chan<bool> wake_{1};
    // Guarded by lock_.
    std::shared_ptr<transfer> first_;
    transfer* last_ = nullptr;
    bool is_closed_ = false;
};

}  // namespace weft::http::detail
