// code_mappings_linux.cc: see code_mappings.h.
#include <link.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>

#include "os/code_mappings.h"

namespace weft::detail::os {

namespace {

struct close_file {
    void operator()(std::FILE* file) const noexcept { static_cast<void>(std::fclose(file)); }
};

// The build id of the module that contains an address.
struct build_id_search {
    uint64_t address;
    const unsigned char* id = nullptr;
    std::size_t size = 0;
};

bool contains(const dl_phdr_info& module, uint64_t address) noexcept {
    for (int i = 0; i < module.dlpi_phnum; ++i) {
        const ElfW(Phdr)& s = module.dlpi_phdr[i];
        const uint64_t begin = module.dlpi_addr + s.p_vaddr;
        if (s.p_type == PT_LOAD && address >= begin && address - begin < s.p_memsz) return true;
    }
    return false;
}

std::size_t padded(std::size_t size) noexcept { return (size + 3) & ~std::size_t{3}; }

void find_in_notes(const char* at, std::size_t size, build_id_search& search) noexcept {
    ElfW(Nhdr) note;
    while (size >= sizeof(note)) {
        std::memcpy(&note, at, sizeof(note));
        const std::size_t content = sizeof(note) + padded(note.n_namesz);
        const std::size_t whole = content + padded(note.n_descsz);
        if (whole > size) return;
        const bool is_of_gnu = note.n_namesz == 4 && std::memcmp(at + sizeof(note), "GNU", 4) == 0;
        if (is_of_gnu && note.n_type == NT_GNU_BUILD_ID) {
            search.id = reinterpret_cast<const unsigned char*>(at + content);
            search.size = note.n_descsz;
            return;
        }
        at += whole;
        size -= whole;
    }
}

int find_build_id_in(dl_phdr_info* module, std::size_t /*size*/, void* closure) noexcept {
    auto& search = *static_cast<build_id_search*>(closure);
    if (!contains(*module, search.address)) return 0;
    for (int i = 0; i < module->dlpi_phnum && search.id == nullptr; ++i) {
        const ElfW(Phdr)& s = module->dlpi_phdr[i];
        if (s.p_type != PT_NOTE) continue;
        find_in_notes(reinterpret_cast<const char*>(module->dlpi_addr + s.p_vaddr), s.p_memsz, search);  // NOLINT
    }
    return 1;
}

}  // namespace

// NOLINTBEGIN(clang-analyzer-unix.Stream): the file is closed by its owner
bool for_each_code_mapping(void (*each)(void* closure, const code_mapping& m), void* closure) {
    const std::unique_ptr<std::FILE, close_file> maps(std::fopen("/proc/self/maps", "re"));
    if (maps == nullptr) return false;
    char line[4096 + 128];  // the longest path, and what is before it
    while (std::fgets(line, sizeof(line), maps.get()) != nullptr) {
        code_mapping m{};
        char rights[8] = {};
        int path_at = 0;
        // NOLINTNEXTLINE(cert-err34-c): the kernel writes it
        if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &m.begin, &m.end, rights, &m.offset,
                        &path_at) != 4)
            continue;
        if (rights[2] != 'x' || path_at == 0) continue;
        line[std::strcspn(line, "\n")] = '\0';
        m.path = line + path_at;
        build_id_search search{m.begin};
        dl_iterate_phdr(&find_build_id_in, &search);
        m.build_id = search.id;
        m.build_id_size = search.size;
        each(closure, m);
    }
    return std::ferror(maps.get()) == 0;
}

// NOLINTEND(clang-analyzer-unix.Stream)

}  // namespace weft::detail::os
