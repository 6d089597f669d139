// outside_poller.h: in models the suite provides the poller of plain threads.
#pragma once

namespace weft::detail {

class poll_desc;

[[nodiscard]] int add_to_outside_poller(poll_desc& d) noexcept;

}  // namespace weft::detail
