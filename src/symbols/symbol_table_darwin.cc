// symbol_table_darwin.cc: not implemented. See symbol_table.h.
#include "symbols/symbol_table.h"

namespace weft::detail {

symbol_table::symbol_table(const char* /*path*/) {}

symbol_table::~symbol_table() = default;

std::string_view symbol_table::find(uint64_t /*address*/) const noexcept { return {}; }

}  // namespace weft::detail
