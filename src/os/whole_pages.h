// whole_pages.h: rounds a size up to pages.
#pragma once

#include <cstddef>

#include "os/os.h"

namespace weft::detail::os {

[[nodiscard]] inline std::size_t whole_pages(std::size_t bytes) noexcept {
    const std::size_t page = page_size();
    return (bytes + page - 1) / page * page;
}

}  // namespace weft::detail::os
