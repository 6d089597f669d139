// hosts.cc: see hosts.h.
#include "sim/hosts.h"

#include <algorithm>
#include <mutex>

namespace weft::sim {

namespace {

constexpr ip any_v4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0};
constexpr ip loopback_v6{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

bool is_v4(const ip& a) noexcept { return std::equal(a.begin(), a.begin() + 12, any_v4.begin()); }

}  // namespace

ip mapped(const std::array<uint8_t, 4>& v4) noexcept {
    ip a = any_v4;
    std::copy(v4.begin(), v4.end(), a.begin() + 12);
    return a;
}

bool is_any(const ip& a) noexcept { return a == any_v4 || a == ip{}; }

bool is_loopback(const ip& a) noexcept { return a == loopback_v6 || (is_v4(a) && a[12] == 127); }

void hosts::clear() {
    all_.clear();
    cut_.clear();
    all_.emplace_back().name = "localhost";
}

void hosts::abandon() {
    static std::mutex lock;
    static auto* const abandoned = new std::vector<std::vector<record>>;  // reachable: no leak is reported
    const std::lock_guard held(lock);
    abandoned->push_back(std::move(all_));
}

std::optional<unsigned> hosts::add(std::string_view name) {
    if (find(name)) return std::nullopt;
    all_.emplace_back().name = name;
    restart(static_cast<unsigned>(all_.size() - 1));
    return static_cast<unsigned>(all_.size() - 1);
}

std::optional<unsigned> hosts::find(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < all_.size(); ++i) {
        if (all_[i].name == name) return static_cast<unsigned>(i);
    }
    return std::nullopt;
}

std::array<uint8_t, 4> hosts::address(unsigned host) noexcept {
    const unsigned n = host + 1;
    return {10, 0, static_cast<uint8_t>(n >> 8), static_cast<uint8_t>(n)};
}

std::optional<unsigned> hosts::find(const ip& address, unsigned from) const noexcept {
    if (is_loopback(address) || is_any(address)) return from;
    if (!is_v4(address) || address[12] != 10 || address[13] != 0) return std::nullopt;
    const unsigned n = unsigned{address[14]} << 8 | address[15];
    if (n == 0 || n > all_.size()) return std::nullopt;
    return n - 1;
}

void hosts::crash(unsigned host) noexcept {
    all_[host].up = false;
    if (all_[host].context) all_[host].context->cancel();
}

// A new context: the old one stays cancelled, for its green threads.
void hosts::restart(unsigned host) {
    record& r = all_[host];
    r.up = true;
    ++r.boot;
    if (host == 0) return;
    if (r.context) r.of_green_threads.push_back(std::move(r.context));
    r.context = std::make_unique<weft::detail::cancel_context>(nullptr, weft::detail::never);
}

weft::detail::cancel_context* hosts::new_context(unsigned host) {
    record& r = all_[host];
    if (host == 0) return nullptr;
    r.of_green_threads.push_back(std::make_unique<weft::detail::cancel_context>(r.context.get(), weft::detail::never));
    return r.of_green_threads.back().get();
}

}  // namespace weft::sim
