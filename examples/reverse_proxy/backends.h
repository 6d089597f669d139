// backends.h: all back ends, and the choice of one for each request.
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

// Counts a request in the load of a back end, for its lifetime.
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

    // Returns the back end that has the least load among those that are up and not yet tried. If
    // none of them is up, chooses among all that were not tried: one may have recovered unnoticed.
    // Returns nullptr if all were tried.
    [[nodiscard]] backend* choose(std::span<backend* const> tried);

    [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

    [[nodiscard]] backend& operator[](std::size_t i) noexcept { return *all_[i]; }

private:
    std::vector<std::unique_ptr<backend>> all_;
    std::atomic<std::size_t> turn_ = 0;  // where the search begins, so that back ends with equal load take turns
};

}  // namespace reverse_proxy
