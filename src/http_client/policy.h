// policy.h: which replies are redirects, what follows from them, and what may be sent again.
//
// The client follows redirects itself. libcurl keeps a method that it does not know, also where the
// next request must be a GET, and its rules cannot be asked afterwards.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <weft/http/client.h>

namespace weft::http::detail {

[[nodiscard]] bool is_redirect(unsigned status) noexcept;

// Whether the redirect keeps the method and the body: 307, 308, and others for GET and HEAD.
[[nodiscard]] bool keeps_method(unsigned status, std::string_view method) noexcept;

// Whether the request has the same effect if a server gets it twice (RFC 9110, 9.2.2).
[[nodiscard]] bool is_idempotent(std::string_view method) noexcept;

// Whether the same request may succeed later: for an error without a reply, and for a status.
[[nodiscard]] bool is_temporary(std::error_code e) noexcept;
[[nodiscard]] bool is_temporary(unsigned status) noexcept;

// The value of a field Retry-After: seconds or a date. nullopt: it is empty or malformed. Throws
// std::bad_alloc.
[[nodiscard]] std::optional<std::chrono::nanoseconds> retry_after(std::string_view value);

// The pause before a retry: retry_delay, doubled each time, at most retry_delay_max. Half of it is
// by chance, so that clients which failed together do not come back together.
[[nodiscard]] std::chrono::nanoseconds retry_pause(const client_options& how,
                                                   unsigned retries,
                                                   uint64_t random) noexcept;

}  // namespace weft::http::detail
