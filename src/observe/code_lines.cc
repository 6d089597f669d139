// code_lines.cc: see code_lines.h.
#include "observe/code_lines.h"

#include <dwarf.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

namespace weft::detail {

namespace {

struct free_scopes {
    void operator()(Dwarf_Die* scopes) const noexcept { std::free(scopes); }  // NOLINT: what libdw asks for
};

// The scopes that contain scope, itself first, as the compiler has nested them.
std::pair<std::unique_ptr<Dwarf_Die[], free_scopes>, int> nest_of(Dwarf_Die scope) {
    Dwarf_Die* scopes = nullptr;
    const int count = dwarf_getscopes_die(&scope, &scopes);
    return {std::unique_ptr<Dwarf_Die[], free_scopes>(scopes), count};
}

bool is_function(Dwarf_Die* die) noexcept {
    const int tag = dwarf_tag(die);
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_entry_point;
}

// The function that die is an instance of, where its name is.
Dwarf_Die definition_of(Dwarf_Die die) noexcept {
    for (const unsigned kind : {unsigned{DW_AT_abstract_origin}, unsigned{DW_AT_specification}}) {
        Dwarf_Attribute attribute;
        Dwarf_Die next;
        if (dwarf_formref_die(dwarf_attr(&die, kind, &attribute), &next) != nullptr) die = next;
    }
    return die;
}

// The name of one scope; empty if it does not belong to a name. A class without a name whose
// function is operator() is most often that of a lambda.
std::string part_of_name(Dwarf_Die* die, const std::string& inside) {
    const int tag = dwarf_tag(die);
    const bool is_class = tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
    if (!is_class && tag != DW_TAG_namespace && !is_function(die)) return {};
    if (const char* name = dwarf_diename(die)) return name;
    if (tag == DW_TAG_namespace) return "(anonymous namespace)";
    return is_class && inside.substr(0, 10) == "operator()" ? "{lambda}" : "{unnamed}";
}

// The name of a function that no other file can call, which therefore has no linker's name:
// "weft::detail::(anonymous namespace)::park", "main::{lambda}::operator()". Where a scope is
// defined outside of its own scope, that goes on at its declaration.
std::string qualified_name(Dwarf_Die function) {
    constexpr int deepest = 16;
    std::string name;
    Dwarf_Die at = definition_of(function);
    bool is_named = false;  // at itself
    for (int jump = 0; jump < deepest; ++jump) {
        const auto [nest, count] = nest_of(at);
        bool has_jumped = false;
        for (int i = is_named ? 1 : 0; i < count && !has_jumped; ++i) {
            Dwarf_Die* die = &nest[static_cast<std::size_t>(i)];
            const std::string part = part_of_name(die, name);
            if (!part.empty() && !name.empty()) name.insert(0, "::");
            name.insert(0, part);
            Dwarf_Die declared = definition_of(*die);
            has_jumped = dwarf_dieoffset(&declared) != dwarf_dieoffset(die);
            if (has_jumped) at = declared;
        }
        if (!has_jumped) break;
        is_named = true;
    }
    return name;
}

// The linker's name, or one that is complete without it. Empty: it has none.
std::string name_of(Dwarf_Die* die) {
    for (const unsigned kind : {unsigned{DW_AT_linkage_name}, unsigned{DW_AT_MIPS_linkage_name}}) {
        Dwarf_Attribute attribute;
        if (const char* name = dwarf_formstring(dwarf_attr_integrate(die, kind, &attribute))) return name;
    }
    return qualified_name(*die);
}

unsigned number_of(Dwarf_Die* die, unsigned kind) noexcept {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    return dwarf_formudata(dwarf_attr(die, kind, &attribute), &value) == 0 ? static_cast<unsigned>(value) : 0;
}

}  // namespace

bool code_lines::find(uint64_t address, found_frame found, void* closure) {
    if (module_ == nullptr) return false;
    Dwarf_Addr bias = 0;
    Dwarf_Die* unit = unit_at(address, bias);
    if (unit == nullptr) return false;
    const Dwarf_Addr pc = address - bias;
    const char* file = nullptr;
    int line = 0;
    if (Dwarf_Line* row = dwarf_getsrc_die(unit, pc)) {
        file = dwarf_linesrc(row, nullptr, nullptr);
        static_cast<void>(dwarf_lineno(row, &line));
    }
    return report_nest(unit, pc, address, file, static_cast<unsigned>(line), found, closure);
}

Dwarf_Die* code_lines::unit_at(uint64_t address, Dwarf_Addr& bias) {
    // Where a unit is missing from .debug_aranges, as those of Clang are, this may be the unit
    // before it.
    Dwarf_Die* listed = dwfl_module_addrdie(module_, address, &bias);
    if (listed != nullptr && dwarf_haspc(listed, address - bias) == 1) return listed;
    if (!has_ranges_) read_ranges();
    auto after = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                  [](uint64_t a, const unit_range& r) { return a < r.begin; });
    if (after == ranges_.begin()) return nullptr;
    const unit_range& at = *std::prev(after);
    if (at.end <= address) return nullptr;
    bias = at.bias;
    return at.unit;
}

void code_lines::read_ranges() {
    has_ranges_ = true;
    Dwarf_Addr bias = 0;
    for (Dwarf_Die* unit = nullptr; (unit = dwfl_module_nextcu(module_, unit, &bias)) != nullptr;) {
        Dwarf_Addr base = 0;
        Dwarf_Addr begin = 0;
        Dwarf_Addr end = 0;
        for (std::ptrdiff_t at = 0; (at = dwarf_ranges(unit, at, &base, &begin, &end)) > 0;)
            ranges_.push_back({begin + bias, end + bias, unit, bias});
    }
    std::sort(ranges_.begin(), ranges_.end(),
              [](const unit_range& a, const unit_range& b) { return a.begin < b.begin; });
}

// dwarf_getscopes() does not find a function inside one that has no code of its own, such as
// the body of a lambda in a function that was expanded everywhere.
void code_lines::collect_functions(Dwarf_Die* scope, std::vector<function_range>& into) {
    Dwarf_Die child;
    for (int result = dwarf_child(scope, &child); result == 0; result = dwarf_siblingof(&child, &child)) {
        const int tag = dwarf_tag(&child);
        if (tag == DW_TAG_subprogram) {
            Dwarf_Addr base = 0;
            function_range r{0, 0, dwarf_dieoffset(&child)};
            for (std::ptrdiff_t at = 0; (at = dwarf_ranges(&child, at, &base, &r.begin, &r.end)) > 0;)
                into.push_back(r);
        }
        const bool may_contain_functions = tag == DW_TAG_subprogram || tag == DW_TAG_namespace ||
                                           tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
                                           tag == DW_TAG_union_type || tag == DW_TAG_lexical_block;
        if (may_contain_functions) collect_functions(&child, into);
    }
}

// Returns false if no function is there.
bool code_lines::function_at(Dwarf_Die* unit, Dwarf_Addr pc, Dwarf_Die& function) {
    const auto [entry, is_new] = functions_.try_emplace(dwarf_dieoffset(unit));
    std::vector<function_range>& all = entry->second;
    if (is_new) {
        collect_functions(unit, all);
        std::sort(all.begin(), all.end(),
                  [](const function_range& a, const function_range& b) { return a.begin < b.begin; });
    }
    auto after =
        std::upper_bound(all.begin(), all.end(), pc, [](Dwarf_Addr a, const function_range& f) { return a < f.begin; });
    if (after == all.begin() || std::prev(after)->end <= pc) return false;
    Dwarf_Addr bias = 0;
    return dwarf_offdie(dwfl_module_getdwarf(module_, &bias), std::prev(after)->function, &function) != nullptr;
}

// Appends the calls expanded at pc inside scope, the outermost first.
void code_lines::collect_inlined(Dwarf_Die* scope, Dwarf_Addr pc, std::vector<Dwarf_Die>& into) {
    Dwarf_Die child;
    for (int result = dwarf_child(scope, &child); result == 0; result = dwarf_siblingof(&child, &child)) {
        const int tag = dwarf_tag(&child);
        const bool is_block = tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
        if (!is_block && tag != DW_TAG_inlined_subroutine) continue;
        if (dwarf_haspc(&child, pc) != 1) continue;
        if (!is_block) into.push_back(child);
        Dwarf_Die inside = child;
        collect_inlined(&inside, pc, into);
        return;
    }
}

// Reports the innermost function, and those into which it is inlined. Its place is that of the
// line table; the place of each outer one is where it calls the one inside.
bool code_lines::report_nest(Dwarf_Die* unit,
                             Dwarf_Addr pc,
                             uint64_t address,
                             const char* file,
                             unsigned line,
                             found_frame found,
                             void* closure) {
    Dwarf_Die function;
    if (!function_at(unit, pc, function)) return false;
    std::vector<Dwarf_Die> nest;
    collect_inlined(&function, pc, nest);
    Dwarf_Files* files = nullptr;
    if (dwarf_getsrcfiles(unit, &files, nullptr) != 0) files = nullptr;
    for (auto call = nest.rbegin(); call != nest.rend(); ++call) {
        const std::string name = name_of(&*call);
        if (!name.empty()) found(closure, name.c_str(), file, line, true);
        const unsigned call_file = number_of(&*call, DW_AT_call_file);
        file = files == nullptr ? nullptr : dwarf_filesrc(files, call_file, nullptr, nullptr);
        line = number_of(&*call, DW_AT_call_line);
    }
    // The symbol table's name is complete where debug information may have a part only.
    const char* symbol = dwfl_module_addrname(module_, address);
    const std::string name = symbol != nullptr ? symbol : name_of(&function);
    if (!name.empty()) found(closure, name.c_str(), file, line, false);
    return !name.empty() || !nest.empty();
}

}  // namespace weft::detail
