// symbol_table_windows.cc: of programs for Windows (PE files). See symbol_table.h.
//
// A PE file of GCC or Clang ends with the COFF symbols of its objects:
//
//     "MZ" header ─▶ "PE\0\0", file header ─▶ symbols, 18 bytes each; then their long names
//                    section headers            value: relative to its section
//
// A symbol has no size, so a function reaches up to the next symbol of its section.
#include <algorithm>
#include <cstring>

#include "os/windows_api.h"
#include "symbols/symbol_table.h"

namespace weft::detail {

namespace {

std::span<const std::byte> map_file(const char* path) noexcept {
    HANDLE file =
        CreateFileA(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr, OPEN_EXISTING, 0, nullptr);
    if (file == INVALID_HANDLE_VALUE) return {};
    LARGE_INTEGER size{};
    const void* view = nullptr;
    if (GetFileSizeEx(file, &size) != 0 && size.QuadPart > 0) {
        if (HANDLE mapping = CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr); mapping != nullptr) {
            view = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
            CloseHandle(mapping);
        }
    }
    CloseHandle(file);
    if (view == nullptr) return {};
    return {static_cast<const std::byte*>(view), static_cast<std::size_t>(size.QuadPart)};
}

// Returns the part of the file, or nothing if it does not lie in the file.
std::span<const std::byte> part(std::span<const std::byte> file, uint64_t at, uint64_t size) noexcept {
    if (at > file.size() || size > file.size() - at) return {};
    return file.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size));
}

// Parts of a file may be misaligned, so objects are copied out.
template <typename T>
bool read_object(std::span<const std::byte> file, uint64_t at, T& into) noexcept {
    const std::span<const std::byte> bytes = part(file, at, sizeof(T));
    if (bytes.empty()) return false;
    std::memcpy(&into, bytes.data(), sizeof(T));
    return true;
}

// Up to eight bytes are in the entry itself, without an end if there are eight.
std::string_view name_of(std::span<const std::byte> entry,
                         const IMAGE_SYMBOL& e,
                         std::span<const std::byte> names) noexcept {
    if (e.N.Name.Short == 0)
        return e.N.Name.Long < names.size() ? reinterpret_cast<const char*>(names.data()) + e.N.Name.Long : "";
    const auto* text = reinterpret_cast<const char*>(entry.data());
    return {text, strnlen(text, IMAGE_SIZEOF_SHORT_NAME)};
}

}  // namespace

symbol_table::symbol_table(const char* path) : file_(map_file(path)) { read_table(0); }

symbol_table::~symbol_table() {
    if (!file_.empty()) UnmapViewOfFile(file_.data());
}

void symbol_table::read_table(unsigned /*wanted_type*/) {
    IMAGE_DOS_HEADER dos;
    IMAGE_FILE_HEADER header;
    DWORD signature = 0;
    if (!read_object(file_, 0, dos) || dos.e_magic != IMAGE_DOS_SIGNATURE || dos.e_lfanew < 0) return;
    const auto at = static_cast<uint64_t>(dos.e_lfanew);
    if (!read_object(file_, at, signature) || signature != IMAGE_NT_SIGNATURE) return;
    if (!read_object(file_, at + sizeof(signature), header)) return;
    const uint64_t sections = at + sizeof(signature) + sizeof(header) + header.SizeOfOptionalHeader;
    const std::span<const std::byte> entries =
        part(file_, header.PointerToSymbolTable, uint64_t{header.NumberOfSymbols} * IMAGE_SIZEOF_SYMBOL);
    // The names follow. The size in front of them counts itself, and offsets count from there.
    const uint64_t names_at = header.PointerToSymbolTable + uint64_t{entries.size()};
    DWORD names_size = 0;
    if (entries.empty() || !read_object(file_, names_at, names_size)) return;
    const std::span<const std::byte> names = part(file_, names_at, names_size);
    if (names.empty() || names.back() != std::byte{0}) return;  // so each name in it ends
    for (std::size_t i = 0; i < header.NumberOfSymbols; ++i) {
        const std::size_t entry_at = i * IMAGE_SIZEOF_SYMBOL;
        IMAGE_SYMBOL e;
        std::memcpy(&e, entries.data() + entry_at, IMAGE_SIZEOF_SYMBOL);
        i += e.NumberOfAuxSymbols;
        if (!ISFCN(e.Type) || e.SectionNumber <= 0) continue;
        const std::string_view name = name_of(entries.subspan(entry_at), e, names);
        if (name.empty()) continue;
        IMAGE_SECTION_HEADER section;
        const uint64_t section_at = sections + uint64_t{sizeof(section)} * static_cast<uint64_t>(e.SectionNumber - 1);
        if (!read_object(file_, section_at, section)) continue;
        functions_.push_back({uint64_t{section.VirtualAddress} + e.Value, 0, name});
    }
    std::ranges::sort(functions_, {}, &function::begin);
}

std::string_view symbol_table::find(uint64_t address) const noexcept {
    const auto after = std::ranges::upper_bound(functions_, address, {}, &function::begin);
    // What lies after the last one may be anything.
    const bool is_known = after != functions_.begin() && after != functions_.end();
    return is_known ? (after - 1)->name : std::string_view();
}

}  // namespace weft::detail
