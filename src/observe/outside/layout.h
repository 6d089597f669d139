// layout.h: where things are in the memory of a program, by the debug information of the weft that
// it uses. No offset is written down here, so that another version of weft can be read.
//
// Threads: one.
#pragma once

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::observe::detail {

// Where a field lies in an object.
struct field_place {
    std::size_t offset = 0;
    std::size_t size = 0;

    // The field in the bytes of an object, as a number of up to eight bytes.
    [[nodiscard]] uint64_t in(const std::byte* object) const noexcept;
};

class layout {
public:
    // Searches all files of the program. Throws std::runtime_error, which says what to do, if none
    // has the debug information of weft.
    explicit layout(Dwfl* program);

    // The field "a.b" of a type in weft::detail, also of its base classes.
    [[nodiscard]] field_place field(const char* type, std::string_view path);
    [[nodiscard]] std::optional<field_place> field_if_any(const char* type, std::string_view path);
    [[nodiscard]] std::size_t size_of(const char* type);

    // A constant that is a static member.
    [[nodiscard]] uint64_t constant(const char* type, const char* name);

    struct enumerator {
        std::string name;
        int64_t value;
    };

    // Several may have the same value.
    [[nodiscard]] std::vector<enumerator> enumerators_of(const char* enumeration);

    // The address of the list of runtimes.
    [[nodiscard]] uint64_t registry() const noexcept { return registry_; }

private:
    struct unit {
        Dwarf_Die die;
        bool is_read = false;
    };

    void find_units(Dwfl* program);
    [[nodiscard]] Dwarf_Die type(std::string_view name);
    void read(unit& one);
    void read_namespace(Dwarf_Die* scope);
    void note(Dwarf_Die* die);
    [[nodiscard]] bool find_field(Dwarf_Die* in, std::string_view name, std::size_t& offset, Dwarf_Die& its_type);

    Dwfl_Module* module_ = nullptr;
    Dwarf_Addr bias_ = 0;
    std::vector<unit> units_;  // those of the library that are certain to have types first
    std::map<std::string, Dwarf_Die, std::less<>> types_;
    Dwarf_Off declared_ = 0;  // where the list of runtimes is declared
    uint64_t registry_ = 0;
};

}  // namespace weft::observe::detail
