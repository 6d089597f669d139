// writable.h: whether a write would block.
#pragma once

namespace weft::detail::os {

// Whether fd takes something now, or within that many ms. Of a pipe: as much as a page. What cannot be asked takes everything.
[[nodiscard]] bool becomes_writable(int fd, int ms) noexcept;

}  // namespace weft::detail::os
