// stop_token.cc: a std::stop_token from the caller's context.
#include <chrono>
#include <memory>
#include <stop_token>
#include <utility>

#include <weft/cancel.h>
#include <weft/detail/cancel.h>
#include <weft/timer.h>

#include "wait/stop_bridge.h"

namespace weft::detail {

namespace {

struct timed_bridge final : stop_bridge {
    weft::timer alarm;  // requests the stop at the deadline

    void drop_timer() noexcept override { alarm = weft::timer(); }
};

// Owns the bridge.
class deadline_passes {
public:
    explicit deadline_passes(stop_bridge& b) noexcept : bridge_(&b) { add_owner(b); }

    deadline_passes(deadline_passes&& other) noexcept : bridge_(std::exchange(other.bridge_, nullptr)) {}

    deadline_passes& operator=(deadline_passes&&) = delete;

    ~deadline_passes() {
        if (bridge_ != nullptr) drop_owner(bridge_);
    }

    void operator()() { bridge_->source.request_stop(); }

private:
    stop_bridge* bridge_;
};

stop_bridge* make_bridge(int64_t deadline_ns) {
    auto made = std::make_unique<timed_bridge>();
    const int64_t left = deadline_ns == never ? never : deadline_ns - now_ns();
    if (left <= 0) {
        made->source.request_stop();
    } else if (left != never) {
        made->alarm = after_func(std::chrono::nanoseconds(left), deadline_passes(*made));
    }
    return made.release();
}

}  // namespace

}  // namespace weft::detail

namespace weft::this_g {

std::stop_token stop_token() {
    detail::cancel_context* context = detail::enclosing_context().context;
    if (context == nullptr) return {};
    return context->bridge(&detail::make_bridge).source.get_token();
}

}  // namespace weft::this_g
