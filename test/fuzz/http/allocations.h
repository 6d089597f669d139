// allocations.h: how much memory is allocated by new, at most, while one looks.
#pragma once

#include <cstddef>

namespace fuzz::http {

class watch_on_allocations {
public:
    watch_on_allocations() noexcept;

    // The most that there was at a time since then, beyond what there was then.
    [[nodiscard]] std::size_t most() const noexcept;

private:
    std::size_t before_;
};

}  // namespace fuzz::http
