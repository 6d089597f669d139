// symbols.cc: see symbols.h. For systems whose programs are ELF files.
//
// The program itself is found by the headers that the kernel passes: the dynamic linker does not
// know a static program.
#include "os/symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <span>

#include "os/auxiliary_values.h"

namespace weft::detail::os {

namespace {

using file_header = ElfW(Ehdr);
using segment = ElfW(Phdr);
using dynamic_entry = ElfW(Dyn);

const char* name_of(const char* path) noexcept {
    const char* slash = std::strrchr(path, '/');
    return slash == nullptr ? path : slash + 1;
}

template <typename T>
const T* at_address(uintptr_t address) noexcept {
    return reinterpret_cast<const T*>(address);  // NOLINT(performance-no-int-to-ptr): the system passes addresses
}

struct program_image {
    std::span<const segment> segments;
    uintptr_t shift = 0;  // from addresses in the file to those in memory

    program_image() noexcept {
        const auto [headers, count] = find_program_headers();
        if (headers == 0) return;
        segments = {at_address<segment>(headers), count};
        for (const segment& s : segments) {
            // The headers follow the file's header, which begins the first segment.
            if (s.p_type == PT_LOAD && s.p_offset == 0) shift = headers - sizeof(file_header) - s.p_vaddr;
            if (s.p_type != PT_PHDR) continue;
            shift = headers - s.p_vaddr;
            return;
        }
    }

    [[nodiscard]] bool contains(const void* pc) const noexcept {
        const uintptr_t address = reinterpret_cast<uintptr_t>(pc) - shift;
        for (const segment& s : segments) {
            if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_memsz) return true;
        }
        return false;
    }

    // Whether the program's file lists this library among those that it needs.
    [[nodiscard]] bool needs(const char* library) const noexcept {
        const dynamic_entry* list = nullptr;
        for (const segment& s : segments) {
            if (s.p_type == PT_DYNAMIC) list = at_address<dynamic_entry>(shift + s.p_vaddr);
        }
        if (list == nullptr) return false;
        uintptr_t names = 0;
        for (const dynamic_entry* d = list; d->d_tag != DT_NULL; ++d) {
            if (d->d_tag == DT_STRTAB) names = d->d_un.d_ptr;
        }
        if (names < shift) names += shift;  // glibc stores the address in memory here, musl leaves that of the file
        for (const dynamic_entry* d = list; names != 0 && d->d_tag != DT_NULL; ++d) {
            if (d->d_tag == DT_NEEDED && std::strcmp(at_address<char>(names + d->d_un.d_val), library) == 0)
                return true;
        }
        return false;
    }
};

// A library has addresses from 0 on, unless it was linked for a fixed place.
bool is_at_fixed_place(const void* module) noexcept {
    const auto* header = static_cast<const file_header*>(module);
    return std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_type == ET_EXEC;
}

}  // namespace

bool find_code(const void* pc, code_place& place) noexcept {
    const program_image program;
    Dl_info info{};
    const bool is_known = dladdr(pc, &info) != 0;
    place.function = is_known ? info.dli_sname : nullptr;
    place.in_program = program.contains(pc);
    if (place.in_program) {
        place.path = program_name();
        place.address = reinterpret_cast<uintptr_t>(pc) - program.shift;
    } else {
        if (!is_known) return false;
        place.path = info.dli_fname;
        place.address = reinterpret_cast<uintptr_t>(pc);
        if (!is_at_fixed_place(info.dli_fbase)) place.address -= reinterpret_cast<uintptr_t>(info.dli_fbase);
    }
    place.module = name_of(place.path);
    return true;
}

bool runs_at_start() noexcept {
    static constinit int in_this_module = 0;
    const program_image program;
    if (program.contains(&in_this_module)) return true;
    Dl_info info{};
    return dladdr(&in_this_module, &info) != 0 && program.needs(name_of(info.dli_fname));
}

}  // namespace weft::detail::os
