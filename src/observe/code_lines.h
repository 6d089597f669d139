// code_lines.h: the functions, lines and inlined calls at an address of a module, by its debug
// information.
//
// Where a unit is missing from the index of units, as those of Clang are, all units are read once.
//
// Threads: one, that which uses the module.
#pragma once

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <cstdint>
#include <map>
#include <vector>

#include "symbols/debug_information.h"

namespace weft::detail {

class code_lines {
public:
    // module: of a Dwfl that exists as long as this object; nullptr: nothing is known.
    explicit code_lines(Dwfl_Module* module) noexcept : module_(module) {}

    // Calls found for each frame at this address, as weft_find_in_debug_information does.
    bool find(uint64_t address, found_frame found, void* closure);

private:
    struct unit_range {
        Dwarf_Addr begin;
        Dwarf_Addr end;
        Dwarf_Die* unit;
        Dwarf_Addr bias;
    };

    struct function_range {
        Dwarf_Addr begin;
        Dwarf_Addr end;
        Dwarf_Off function;
    };

    [[nodiscard]] Dwarf_Die* unit_at(uint64_t address, Dwarf_Addr& bias);
    void read_ranges();
    static void collect_functions(Dwarf_Die* scope, std::vector<function_range>& into);
    [[nodiscard]] bool function_at(Dwarf_Die* unit, Dwarf_Addr pc, Dwarf_Die& function);
    static void collect_inlined(Dwarf_Die* scope, Dwarf_Addr pc, std::vector<Dwarf_Die>& into);
    bool report_nest(Dwarf_Die* unit,
                     Dwarf_Addr pc,
                     uint64_t address,
                     const char* file,
                     unsigned line,
                     found_frame found,
                     void* closure);

    Dwfl_Module* module_;
    bool has_ranges_ = false;
    std::vector<unit_range> ranges_;
    std::map<Dwarf_Off, std::vector<function_range>> functions_;  // by unit
};

}  // namespace weft::detail
