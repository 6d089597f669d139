// system_lookup.h: one lookup of a name by the system's resolver; blocks its thread.
#pragma once

#include <string>

#include "net/lookup.h"

namespace weft::net::detail {

// family: AF_UNSPEC, AF_INET or AF_INET6. Any thread.
[[nodiscard]] lookup_result perform_lookup(const std::string& host, int family) noexcept;

}  // namespace weft::net::detail
