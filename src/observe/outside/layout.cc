// layout.cc: see layout.h.
#include "observe/outside/layout.h"

#include <dwarf.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace weft::observe::detail {

namespace {

// The units that define most of what is read, and the list of runtimes.
constexpr const char* first_units[] = {"src/lifecycle/crash.cc", "src/sched/g_pool.cc", "src/per_g/labels.cc"};

[[noreturn]] void throw_misfit(const std::string& what) {
    throw std::runtime_error("weft: " + what + ": this program weft does not fit the version of weft in the process");
}

std::string_view name_of(Dwarf_Die* die) noexcept {
    const char* name = dwarf_diename(die);
    return name == nullptr ? std::string_view() : name;
}

bool ends_with(std::string_view text, std::string_view end) noexcept {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

template <typename F>
void for_each_child(Dwarf_Die* parent, F&& f) {
    Dwarf_Die child;
    for (int result = dwarf_child(parent, &child); result == 0; result = dwarf_siblingof(&child, &child)) {
        if (!f(&child)) return;
    }
}

// Without typedefs, const and so on.
bool type_of(Dwarf_Die* die, Dwarf_Die& into) noexcept {
    Dwarf_Attribute attribute;
    Dwarf_Die raw;
    if (dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), &raw) == nullptr) return false;
    return dwarf_peel_type(&raw, &into) == 0;
}

std::size_t offset_of(Dwarf_Die* member) noexcept {
    Dwarf_Attribute attribute;
    Dwarf_Word offset = 0;
    static_cast<void>(dwarf_formudata(dwarf_attr(member, DW_AT_data_member_location, &attribute), &offset));
    return offset;
}

// An address that is fixed in the file; 0: none.
Dwarf_Addr address_of(Dwarf_Die* variable) noexcept {
    Dwarf_Attribute attribute;
    Dwarf_Op* operations = nullptr;
    std::size_t count = 0;
    if (dwarf_getlocation(dwarf_attr(variable, DW_AT_location, &attribute), &operations, &count) != 0 || count != 1)
        return 0;
    if (operations[0].atom == DW_OP_addr) return operations[0].number;
    if (operations[0].atom != DW_OP_addrx && operations[0].atom != DW_OP_GNU_addr_index) return 0;
    Dwarf_Attribute indexed;
    Dwarf_Addr address = 0;
    if (dwarf_getlocation_attr(&attribute, operations, &indexed) != 0 || dwarf_formaddr(&indexed, &address) != 0)
        return 0;
    return address;
}

}  // namespace

uint64_t field_place::in(const std::byte* object) const noexcept {
    uint64_t value = 0;
    std::memcpy(&value, object + offset, std::min(size, sizeof(value)));
    return value;
}

layout::layout(Dwfl* program) {
    find_units(program);
    if (module_ == nullptr) {
        throw std::runtime_error(
            "weft: no debug information of weft, so green threads cannot be found; build weft with -g (its own build "
            "does), do not strip the program, or install its separate debug file where debuggers find it "
            "(/usr/lib/debug/.build-id, or beside the program)");
    }
}

void layout::find_units(Dwfl* program) {
    // The module that has the first of first_units, which defines the list of runtimes.
    const auto visit = [](Dwfl_Module* module, void**, const char*, Dwarf_Addr, void* closure) -> int {
        auto& self = *static_cast<layout*>(closure);
        std::vector<unit> front;
        std::vector<unit> others;
        Dwarf_Addr bias = 0;
        for (Dwarf_Die* die = nullptr; (die = dwfl_module_nextcu(module, die, &bias)) != nullptr;) {
            const std::string_view name = name_of(die);
            const bool is_first = std::any_of(std::begin(first_units), std::end(first_units),
                                              [&](const char* one) { return ends_with(name, one); });
            (is_first ? front : others).push_back({*die, false});
        }
        if (front.empty()) return DWARF_CB_OK;
        self.units_ = front;
        self.units_.insert(self.units_.end(), others.begin(), others.end());
        self.bias_ = bias;
        self.declared_ = 0;
        for (unit& one : self.units_) {
            self.read(one);
            if (self.registry_ != 0) break;
        }
        if (self.registry_ == 0) {  // only another component of weft
            self.units_.clear();
            self.types_.clear();
            return DWARF_CB_OK;
        }
        self.module_ = module;
        return DWARF_CB_ABORT;
    };
    static_cast<void>(dwfl_getmodules(program, visit, this, 0));
}

// All of weft::detail, and of what is nested in it.
void layout::read(unit& one) {
    one.is_read = true;
    const auto descend = [](Dwarf_Die* scope, std::string_view wanted, auto&& then) {
        for_each_child(scope, [&](Dwarf_Die* child) {
            if (dwarf_tag(child) == DW_TAG_namespace && name_of(child) == wanted) then(child);
            return true;
        });
    };
    descend(&one.die, "weft",
            [&](Dwarf_Die* weft) { descend(weft, "detail", [&](Dwarf_Die* detail) { read_namespace(detail); }); });
    if (registry_ != 0 || declared_ == 0) return;
    // A variable is declared in its namespace, and defined outside.
    for_each_child(&one.die, [&](Dwarf_Die* child) {
        Dwarf_Attribute attribute;
        Dwarf_Die of;
        const bool is_it = dwarf_tag(child) == DW_TAG_variable &&
                           dwarf_formref_die(dwarf_attr(child, DW_AT_specification, &attribute), &of) != nullptr &&
                           dwarf_dieoffset(&of) == declared_;
        const Dwarf_Addr address = is_it ? address_of(child) : 0;
        if (address != 0) registry_ = address + bias_;
        return registry_ == 0;
    });
}

void layout::read_namespace(Dwarf_Die* scope) {
    for_each_child(scope, [&](Dwarf_Die* child) {
        if (dwarf_tag(child) == DW_TAG_namespace) {
            if (name_of(child).empty()) read_namespace(child);
        } else {
            note(child);
        }
        return true;
    });
}

void layout::note(Dwarf_Die* die) {
    const int tag = dwarf_tag(die);
    const std::string_view name = name_of(die);
    if (name.empty()) return;
    const bool is_declaration = dwarf_hasattr(die, DW_AT_declaration) == 1;
    if (tag == DW_TAG_variable && name == "registry" && is_declaration) declared_ = dwarf_dieoffset(die);
    if (is_declaration) return;
    if (tag == DW_TAG_variable) {
        const Dwarf_Addr address = name == "registry" && registry_ == 0 ? address_of(die) : 0;
        if (address != 0) registry_ = address + bias_;
        return;
    }
    if (tag != DW_TAG_structure_type && tag != DW_TAG_class_type && tag != DW_TAG_enumeration_type) return;
    types_.try_emplace(std::string(name), *die);
    // Types of its own, such as g_pool::chunk.
    for_each_child(die, [&](Dwarf_Die* child) {
        const int inner = dwarf_tag(child);
        const bool is_type = inner == DW_TAG_structure_type || inner == DW_TAG_class_type;
        if (is_type && !name_of(child).empty() && dwarf_hasattr(child, DW_AT_declaration) != 1) {
            types_.try_emplace(std::string(name) + "::" + std::string(name_of(child)), *child);
        }
        return true;
    });
}

Dwarf_Die layout::type(std::string_view name) {
    auto found = types_.find(name);
    for (auto one = units_.begin(); found == types_.end() && one != units_.end(); ++one) {
        if (one->is_read) continue;
        read(*one);
        found = types_.find(name);
    }
    if (found == types_.end()) throw_misfit("the debug information has no type " + std::string(name));
    return found->second;
}

bool layout::find_field(Dwarf_Die* in, std::string_view name, std::size_t& offset, Dwarf_Die& its_type) {
    bool is_found = false;
    for_each_child(in, [&](Dwarf_Die* child) {
        const int tag = dwarf_tag(child);
        if (tag != DW_TAG_member && tag != DW_TAG_inheritance) return true;
        Dwarf_Die type_here;
        if (!type_of(child, type_here)) return true;
        if (tag == DW_TAG_member && name_of(child) == name) {
            offset += offset_of(child);
            its_type = type_here;
            is_found = true;
        } else if (tag == DW_TAG_inheritance || name_of(child).empty()) {  // a base, or a union without a name
            std::size_t inner = offset + offset_of(child);
            if (find_field(&type_here, name, inner, its_type)) {
                offset = inner;
                is_found = true;
            }
        }
        return !is_found;
    });
    return is_found;
}

std::optional<field_place> layout::field_if_any(const char* type_name, std::string_view path) {
    Dwarf_Die at = type(type_name);
    field_place place;
    for (std::string_view rest = path; !rest.empty();) {
        const std::string_view name = rest.substr(0, rest.find('.'));
        rest.remove_prefix(std::min(rest.size(), name.size() + 1));
        // A type may be declared only where it is used.
        if (dwarf_hasattr(&at, DW_AT_declaration) == 1) at = type(name_of(&at));
        Dwarf_Die next;
        if (!find_field(&at, name, place.offset, next)) return std::nullopt;
        at = next;
    }
    Dwarf_Word size = 0;
    if (dwarf_aggregate_size(&at, &size) == 0) place.size = size;
    return place;
}

field_place layout::field(const char* type_name, std::string_view path) {
    const std::optional<field_place> place = field_if_any(type_name, path);
    if (!place) throw_misfit("the debug information has no " + std::string(type_name) + "::" + std::string(path));
    return *place;
}

std::size_t layout::size_of(const char* type_name) {
    Dwarf_Die die = type(type_name);
    Dwarf_Word size = 0;
    if (dwarf_aggregate_size(&die, &size) != 0)
        throw_misfit("the debug information has no size of " + std::string(type_name));
    return size;
}

uint64_t layout::constant(const char* type_name, const char* name) {
    Dwarf_Die die = type(type_name);
    Dwarf_Word value = 0;
    bool is_found = false;
    for_each_child(&die, [&](Dwarf_Die* child) {
        Dwarf_Attribute attribute;
        is_found =
            name_of(child) == name && dwarf_formudata(dwarf_attr(child, DW_AT_const_value, &attribute), &value) == 0;
        return !is_found;
    });
    if (!is_found) throw_misfit("the debug information has no constant " + std::string(type_name) + "::" + name);
    return value;
}

std::vector<layout::enumerator> layout::enumerators_of(const char* enumeration) {
    Dwarf_Die die = type(enumeration);
    std::vector<enumerator> all;
    for_each_child(&die, [&](Dwarf_Die* child) {
        Dwarf_Attribute attribute;
        Dwarf_Sword value = 0;
        if (dwarf_tag(child) != DW_TAG_enumerator) return true;
        if (dwarf_formsdata(dwarf_attr(child, DW_AT_const_value, &attribute), &value) == 0)
            all.push_back({std::string(name_of(child)), value});
        return true;
    });
    if (all.empty()) throw_misfit("the debug information has no values of " + std::string(enumeration));
    return all;
}

}  // namespace weft::observe::detail
