// signals.cc: see weft/signals.h.
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <weft/signals.h>

#include "os/caught_signals.h"
#include "sched/simulation.h"
#include "signals/subscribers.h"

namespace weft::signals {

namespace {

namespace os = detail::os;
using detail::signal_source;
using detail::signal_subscriber;

// Throws if one of them is refused.
uint64_t mask_of(std::span<const int> which, const char* what) {
    if (which.empty())
        throw std::invalid_argument(std::string("weft: signals::") + what +
                                    ": the list of signals is empty; name at least one");
    uint64_t mask = 0;
    for (const int signal : which) {
        if (const char* why = os::why_not_caught(signal)) {
            throw std::invalid_argument(std::string("weft: signals::") + what + ": signal " + std::to_string(signal) +
                                        ": " + why);
        }
        mask |= uint64_t{1} << (signal - 1);
    }
    return mask;
}

void throw_if(int error, const char* what) {
    if (error != 0) throw std::system_error(error, std::generic_category(), what);
}

}  // namespace

subscription::subscription() noexcept : channel_(chan<int>::nil()) {}

subscription::subscription(std::unique_ptr<signal_subscriber> subscriber) noexcept
    : subscriber_(std::move(subscriber)), channel_(subscriber_->channel) {}

subscription::subscription(subscription&& other) noexcept
    : subscriber_(std::move(other.subscriber_)), channel_(std::exchange(other.channel_, chan<int>::nil())) {}

subscription& subscription::operator=(subscription&& other) noexcept {
    if (this != &other) {
        stop();
        subscriber_ = std::move(other.subscriber_);
        channel_ = std::exchange(other.channel_, chan<int>::nil());
    }
    return *this;
}

subscription::~subscription() { stop(); }

void subscription::stop() noexcept {
    if (subscriber_ == nullptr) return;
    signal_source::the().remove(*subscriber_);
    subscriber_.reset();
    channel_.close();
}

subscription notify(std::span<const int> which, std::size_t capacity) {
    const uint64_t mask = mask_of(which, "notify");
    if (capacity == 0) {
        throw std::invalid_argument(
            "weft: signals::notify: with a capacity of 0, a signal that arrives while no thread waits would be lost; "
            "use 1 or more");
    }
    if (detail::escapes_simulation("waits for signals, which a simulation cannot control"))
        throw std::system_error(std::make_error_code(std::errc::operation_not_supported), "weft: signals::notify");
    auto subscriber = std::make_unique<signal_subscriber>(capacity, mask);
    throw_if(signal_source::the().add(*subscriber),
             "weft: signals::notify (close some descriptors, or raise the limit: ulimit -n)");
    return subscription(std::move(subscriber));
}

void ignore(std::span<const int> which) {
    throw_if(signal_source::the().take_back(mask_of(which, "ignore"), true), "weft: signals::ignore");
}

void reset(std::span<const int> which) {
    throw_if(signal_source::the().take_back(mask_of(which, "reset"), false), "weft: signals::reset");
}

bool is_ignored(int signal) {
    if (signal < 1 || signal > os::signals_max)
        throw std::invalid_argument("weft: signals::is_ignored(" + std::to_string(signal) +
                                    "): signals are numbered from 1 to 64");
    return os::signal_is_ignored(signal);
}

}  // namespace weft::signals
