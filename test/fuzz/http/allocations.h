// allocations.h: the maximum of memory that new has allocated while a watch exists.
#pragma once

#include <cstddef>

namespace fuzz::http {

class watch_on_allocations {
public:
    watch_on_allocations() noexcept;

    // The maximum at any one time since the constructor, beyond what was allocated then.
    [[nodiscard]] std::size_t most() const noexcept;

private:
    std::size_t before_;
};

}  // namespace fuzz::http
