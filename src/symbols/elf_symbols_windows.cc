// elf_symbols_windows.cc: programs here are no ELF files, so none has symbols. See elf_symbols.h.
#include "symbols/elf_symbols.h"

namespace weft::detail {

elf_symbols::elf_symbols(const char* /*path*/) {}

elf_symbols::~elf_symbols() = default;

const char* elf_symbols::find(uint64_t /*address*/) const noexcept { return nullptr; }

}  // namespace weft::detail
