// unobserved.h: reports exceptions that no caller will get.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <exception>

namespace weft::detail {

// Calls the hook for unobserved exceptions; without one, warns with what. Does neither for an
// interruption that was asked for. deadline_ns: around the code that threw e.
void report_unobserved(const std::exception_ptr& e, const char* what, int64_t deadline_ns) noexcept;

}  // namespace weft::detail
