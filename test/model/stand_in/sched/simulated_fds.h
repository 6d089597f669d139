// simulated_fds.h: stands in for src/sched/simulated_fds.h: models are not simulated.
#pragma once

#include "poll/backend.h"

namespace weft::detail {

[[nodiscard]] constexpr bool is_simulated_fd(int /*fd*/) noexcept { return false; }

class simulated_fds : public poll_backend {};

[[nodiscard]] inline simulated_fds* simulated_fds_of(int /*fd*/) noexcept { return nullptr; }

}  // namespace weft::detail
