// g_main.h: in models no runtime stops with a deadline.
#pragma once

#include <weft/detail/cancel.h>
#include <weft/error.h>

namespace weft {

class runtime_stopped : public cancelled {};

namespace detail {

inline cancel_context* shield_context() noexcept { return nullptr; }

inline bool is_context(const cancel_context* c) noexcept { return c != nullptr; }

}  // namespace detail

}  // namespace weft
