// symbol_table.h: finds functions in the symbol table of a program's or a library's file.
//
//   ELF       all functions (.symtab), or, in a stripped file, the exported ones (.dynsym)
//   Windows   the COFF symbols that GCC and Clang leave in a program; a stripped file has none
//   macOS     not implemented: no file has functions
//
// A file that has another form has no functions; a damaged one may have wrong ones, but is never
// read beyond its end.
//
// Allocates. Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft::detail {

class symbol_table {
public:
    // Maps the file at path while the object exists.
    explicit symbol_table(const char* path);
    ~symbol_table();
    symbol_table(const symbol_table&) = delete;
    symbol_table& operator=(const symbol_table&) = delete;

    // Returns the linker's name of the function at this address, which is the file's, not the
    // process's; empty: no function is there. Valid while the object exists. Logarithmic.
    [[nodiscard]] std::string_view find(uint64_t address) const noexcept;

private:
    struct function {
        uint64_t begin;
        uint64_t size;  // 0: up to the next one
        std::string_view name;
    };

    void read_table(unsigned wanted_type);

    std::span<const std::byte> file_;
    std::vector<function> functions_;  // by address
};

}  // namespace weft::detail
