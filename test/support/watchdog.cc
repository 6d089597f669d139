#include "watchdog.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace weft::test {

watchdog::watchdog(std::string what, std::chrono::seconds limit, std::function<void()> report)
    : what_(std::move(what)), report_(std::move(report)), thread_([this, limit] { watch(limit); }) {}

watchdog::~watchdog() {
    {
        const std::lock_guard hold(mutex_);
        over_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void watchdog::watch(std::chrono::seconds limit) {
    std::unique_lock hold(mutex_);
    if (changed_.wait_for(hold, limit, [this] { return over_; })) return;
    std::fprintf(stderr, "%s hangs: not finished after %lld s\n", what_.c_str(), static_cast<long long>(limit.count()));
    report_();
    std::abort();
}

}  // namespace weft::test
