// backends.h: all back ends: which one gets the next request.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <weft/net/tcp.h>

#include "backend.h"
#include "options.h"

namespace reverse_proxy {

// One of them, for the time in which it is busy with us.
class assignment {
public:
    explicit assignment(backend& to) noexcept : to_(&to) { to_->add_load(); }

    assignment(assignment&& other) noexcept : to_(std::exchange(other.to_, nullptr)) {}

    assignment& operator=(assignment&&) = delete;

    ~assignment() {
        if (to_ != nullptr) to_->remove_load();
    }

    backend& operator*() const noexcept { return *to_; }

    backend* operator->() const noexcept { return to_; }

private:
    backend* to_;
};

class backends {
public:
    explicit backends(const options& how);

    // The one with the least to do of those that are up, or, if none is, of all: it may have come back, and nobody has noticed. None: all of them are
    // among the tried.
    [[nodiscard]] backend* choose(std::span<backend* const> tried);

    [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

    [[nodiscard]] backend& operator[](std::size_t i) noexcept { return *all_[i]; }

private:
    std::vector<std::unique_ptr<backend>> all_;
    std::atomic<std::size_t> turn_ = 0;  // who is looked at first: of those with the same load each gets its turn
};

}  // namespace reverse_proxy
