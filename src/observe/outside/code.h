// code.h: the code of a target: its files, their debug information, what is at an address, and the
// unwinder.
//
// Separate debug files are found as debuggers find them: by build id or by .gnu_debuglink.
//
// Threads: one.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "observe/code_lines.h"
#include "observe/outside/memory.h"
#include "symbols/symbol.h"

namespace weft::observe::detail {

// What is at an address of code.
struct code_name {
    weft::detail::symbol_kind kind = weft::detail::symbol_kind::program;
    bool inlined = false;  // into the function of the next one
    std::string function;
    std::string file;  // empty: unknown
    unsigned line = 0;
};

struct named_address {
    std::vector<code_name> names;  // innermost first; empty: nothing is known
    std::string module;            // the file's name without its folder; empty: none is there
    uint64_t offset = 0;           // in the address space of that file
};

// The frames of one stack.
struct unwound {
    std::vector<uint64_t> pcs;    // the place where it left off, then return addresses
    std::vector<uint64_t> slots;  // where pcs[1] and the following are stored; empty: unknown
    bool is_whole = false;        // the outermost function was reached
};

class code {
public:
    // Throws std::runtime_error.
    explicit code(target_memory& memory);
    ~code();
    code(const code&) = delete;
    code& operator=(const code&) = delete;

    [[nodiscard]] Dwfl* dwfl() const noexcept { return dwfl_.get(); }

    // Of the symbol with exactly this name in any file; 0: not found.
    [[nodiscard]] uint64_t address_of(const char* symbol) const;

    // Of the instruction before a return address. Valid as long as this object.
    [[nodiscard]] const named_address& at(uint64_t return_address);

    // By the tables of the compiler for exceptions. At most `most` frames.
    [[nodiscard]] unwound unwind(const thread_registers& from, std::size_t most);

private:
    struct end_dwfl {
        void operator()(Dwfl* d) const noexcept { dwfl_end(d); }
    };

    struct progress;

    void report_files();
    void fill(uint64_t address, named_address& into);
    static bool read_word(Dwfl* d, Dwarf_Addr at, Dwarf_Word* into, void* self) noexcept;
    static bool give_registers(Dwfl_Thread* thread, void* self) noexcept;
    static int take_frame(Dwfl_Frame* frame, void* into) noexcept;

    static const Dwfl_Thread_Callbacks callbacks;

    target_memory& memory_;
    std::unique_ptr<Dwfl, end_dwfl> dwfl_;
    std::map<Dwfl_Module*, weft::detail::code_lines> lines_;
    std::map<uint64_t, named_address> known_;  // by address
    thread_registers start_;
    bool may_unwind_ = false;
};

}  // namespace weft::observe::detail
