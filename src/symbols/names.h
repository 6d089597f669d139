// names.h: what a linker's name says: the readable name, and whose function it is.
//
// Allocates. Threads: any thread.
#pragma once

#include <string>
#include <string_view>

#include "symbols/symbol.h"

namespace weft::detail {

// The name as a person writes it: demangled, with std::string for its long form, cut at
// longest_name bytes. A name that is not mangled is returned unchanged.
inline constexpr std::size_t longest_name = 600;
[[nodiscard]] std::string readable_name(const std::string& linker_name);

// Of a mangled name, because a demangled one may begin with a return type, or of one that begins
// with its namespaces.
[[nodiscard]] symbol_kind kind_of(std::string_view name) noexcept;

}  // namespace weft::detail
