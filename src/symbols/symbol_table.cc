// symbol_table.cc: of ELF files. See symbol_table.h.
#include "symbols/symbol_table.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace weft::detail {

namespace {

using header = ElfW(Ehdr);
using section = ElfW(Shdr);
using entry = ElfW(Sym);

std::span<const std::byte> map_file(const char* path) noexcept {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return {};
    struct stat s{};
    void* mapped = MAP_FAILED;  // NOLINT(performance-no-int-to-ptr): the system's constant
    if (::fstat(fd, &s) == 0 && s.st_size > 0)
        mapped = ::mmap(nullptr, static_cast<std::size_t>(s.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    ::close(fd);
    if (mapped == MAP_FAILED) return {};  // NOLINT(performance-no-int-to-ptr)
    return {static_cast<const std::byte*>(mapped), static_cast<std::size_t>(s.st_size)};
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

bool read_section(std::span<const std::byte> file, const header& h, unsigned index, section& into) noexcept {
    return h.e_shentsize >= sizeof(section) && read_object(file, h.e_shoff + uint64_t{index} * h.e_shentsize, into);
}

bool is_ours(const header& h) noexcept {
    constexpr unsigned char our_class = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
    return std::memcmp(h.e_ident, ELFMAG, SELFMAG) == 0 && h.e_ident[EI_CLASS] == our_class &&
           h.e_ident[EI_DATA] == ELFDATA2LSB;
}

}  // namespace

symbol_table::symbol_table(const char* path) : file_(map_file(path)) {
    read_table(SHT_SYMTAB);
    if (functions_.empty()) read_table(SHT_DYNSYM);
}

symbol_table::~symbol_table() {
    if (!file_.empty()) ::munmap(const_cast<std::byte*>(file_.data()), file_.size());
}

void symbol_table::read_table(unsigned wanted_type) {
    header h{};
    if (!read_object(file_, 0, h) || !is_ours(h)) return;
    for (unsigned i = 0; i < h.e_shnum; ++i) {
        section table{};
        section strings{};
        if (!read_section(file_, h, i, table) || table.sh_type != wanted_type) continue;
        if (!read_section(file_, h, table.sh_link, strings)) continue;
        const std::span<const std::byte> names = part(file_, strings.sh_offset, strings.sh_size);
        if (names.empty() || names.back() != std::byte{0}) continue;  // so each name in it ends
        const std::span<const std::byte> entries = part(file_, table.sh_offset, table.sh_size);
        for (std::size_t at = 0; at + sizeof(entry) <= entries.size(); at += sizeof(entry)) {
            entry e{};
            std::memcpy(&e, entries.data() + at, sizeof(e));
            const unsigned type = e.st_info & 0xfU;  // ELF64_ST_TYPE
            const bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
            if (!is_function || e.st_shndx == SHN_UNDEF || e.st_name >= names.size()) continue;
            functions_.push_back({e.st_value, e.st_size, reinterpret_cast<const char*>(names.data()) + e.st_name});
        }
    }
    std::sort(functions_.begin(), functions_.end(), [](const function& a, const function& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.size < b.size;
    });
}

std::string_view symbol_table::find(uint64_t address) const noexcept {
    auto after = std::upper_bound(functions_.begin(), functions_.end(), address,
                                  [](uint64_t a, const function& f) { return a < f.begin; });
    if (after == functions_.begin()) return {};
    const bool is_last = after == functions_.end();
    const function& f = *--after;
    // Some functions of assembly have no size: they reach to the next one.
    const bool contains = f.size == 0 ? !is_last : address - f.begin < f.size;
    return contains ? f.name : std::string_view();
}

}  // namespace weft::detail
