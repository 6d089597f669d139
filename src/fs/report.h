// report.h: describes a failed file operation: which file, why, and the remedy.
#pragma once

#include <cstdint>
#include <string>
#include <system_error>

#include <weft/error.h>

#include "sched/simulated_files.h"

namespace weft::fs::detail {

// Requires: ec is set. Throws std::system_error, "weft: WHAT \"PATH\"…"; or weft::cancelled,
// weft::timed_out.
[[noreturn]] void throw_failed(const std::error_code& ec, const char* what, const std::string& path);

inline void throw_if(const std::error_code& ec, const char* what, const std::string& path) {
    if (ec) throw_failed(ec, what, path);
}

// result: of a call on files, or minus errno's value.
inline void set_result(std::error_code& ec, int64_t result) noexcept {
    if (result == -weft::detail::host_crashed) [[unlikely]]  // only in a simulation
        ec = errc::cancelled;
    else
        ec = result < 0 ? std::error_code(static_cast<int>(-result), std::generic_category()) : std::error_code();
}

}  // namespace weft::fs::detail
