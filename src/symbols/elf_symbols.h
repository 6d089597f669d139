// elf_symbols.h: finds functions in the symbol table of an ELF file.
//
// The table of all functions (.symtab), or, in a stripped file, of the exported ones (.dynsym). A
// file that is not a valid ELF file of this machine has no functions; a damaged one may have wrong
// ones, but is never read beyond its end.
//
// Allocates. Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::detail {

class elf_symbols {
public:
    // Maps the file at path while the object exists.
    explicit elf_symbols(const char* path);
    ~elf_symbols();
    elf_symbols(const elf_symbols&) = delete;
    elf_symbols& operator=(const elf_symbols&) = delete;

    // Returns the linker's name of the function at this address, which is the file's, not the
    // process's; nullptr: no function is there. Valid while the object exists. Logarithmic.
    [[nodiscard]] const char* find(uint64_t address) const noexcept;

private:
    struct function {
        uint64_t begin;
        uint64_t size;
        const char* name;
    };

    void read_table(unsigned wanted_type);

    std::span<const std::byte> file_;
    std::vector<function> functions_;  // by address
};

}  // namespace weft::detail
