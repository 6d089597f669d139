// code.cc: see code.h.
#include "observe/outside/code.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

#include "observe/outside/registers.h"
#include "symbols/names.h"

namespace weft::observe::detail {

using weft::detail::symbol_kind;

namespace {

constexpr Dwfl_Callbacks file_callbacks = {.find_elf = dwfl_build_id_find_elf,
                                           .find_debuginfo = dwfl_standard_find_debuginfo,
                                           .section_address = dwfl_offline_section_address,
                                           .debuginfo_path = nullptr};

// The names of lambdas, and with -g1 of all inlined functions, may lack their scope.
symbol_kind kind_at(const std::string& function, const char* file) noexcept {
    const symbol_kind kind = weft::detail::kind_of(function);
    const bool is_of_weft =
        function.substr(0, 2) != "_Z" && file != nullptr && std::strstr(file, "include/weft/") != nullptr;
    return kind == symbol_kind::program && is_of_weft ? symbol_kind::runtime : kind;
}

}  // namespace

// A green thread is a thread for libdwfl, always with this number.
constexpr pid_t the_thread = 1;

const Dwfl_Thread_Callbacks code::callbacks = {
    .next_thread = [](Dwfl*, void* self, void** at) -> pid_t {
        if (*at != nullptr) return 0;
        *at = self;
        return the_thread;
    },
    .get_thread =
        [](Dwfl*, pid_t, void* self, void** at) {
            *at = self;
            return true;
        },
    .memory_read = &code::read_word,
    .set_initial_registers = &code::give_registers,
    .detach = nullptr,
    .thread_detach = nullptr,
};

code::code(target_memory& memory) : memory_(memory), dwfl_(dwfl_begin(&file_callbacks)) {
    if (dwfl_ == nullptr) throw std::runtime_error(std::string("weft: elfutils: ") + dwfl_errmsg(-1));
    report_files();
    may_unwind_ = dwfl_attach_state(dwfl_.get(), nullptr, memory.pid(), &callbacks, this);
}

code::~code() = default;

// Each file once, at the mapping of its beginning.
void code::report_files() {
    dwfl_report_begin(dwfl_.get());
    std::string last;
    for (const mapped_file& file : memory_.files()) {
        if (file.offset != 0 || file.path == last) continue;
        char magic[4] = {};
        if (!memory_.get(file.begin, magic) || std::memcmp(magic, "\177ELF", sizeof(magic)) != 0) continue;
        last = file.path;
        const std::string path = memory_.path_of(file);
        if (path.empty()) continue;
        const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (fd < 0) continue;
        if (dwfl_report_elf(dwfl_.get(), file.path.c_str(), path.c_str(), fd, file.begin, false) == nullptr)
            ::close(fd);
    }
    dwfl_report_end(dwfl_.get(), nullptr, nullptr);
}

uint64_t code::address_of(const char* symbol) const {
    struct search {
        const char* wanted;
        uint64_t found = 0;

        static int visit(Dwfl_Module* module, void**, const char*, Dwarf_Addr, void* self) {
            auto& s = *static_cast<search*>(self);
            const int count = dwfl_module_getsymtab(module);
            for (int i = 0; i < count; ++i) {
                GElf_Sym found;
                GElf_Addr address = 0;
                const char* name = dwfl_module_getsym_info(module, i, &found, &address, nullptr, nullptr, nullptr);
                if (name == nullptr || std::strcmp(name, s.wanted) != 0 || found.st_value == 0) continue;
                s.found = address;
                return DWARF_CB_ABORT;
            }
            return DWARF_CB_OK;
        }
    } all{symbol};

    static_cast<void>(dwfl_getmodules(dwfl_.get(), &search::visit, &all, 0));
    return all.found;
}

const named_address& code::at(uint64_t return_address) {
    const uint64_t address = return_address - 1;  // a call may be the last instruction of its function
    const auto [entry, is_new] = known_.try_emplace(address);
    if (is_new) fill(address, entry->second);
    return entry->second;
}

void code::fill(uint64_t address, named_address& into) {
    Dwfl_Module* module = dwfl_addrmodule(dwfl_.get(), address);
    if (module == nullptr) return;
    const std::string path = dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    into.module = path.substr(path.rfind('/') + 1);
    GElf_Addr bias = 0;
    static_cast<void>(dwfl_module_getelf(module, &bias));
    into.offset = address + 1 - bias;
    const bool is_known =
        lines_.try_emplace(module, module)
            .first->second.find(
                address,
                [](void* closure, const char* function, const char* file, unsigned line, bool inlined) {
                    static_cast<named_address*>(closure)->names.push_back({kind_at(function, file), inlined,
                                                                           weft::detail::readable_name(function),
                                                                           file == nullptr ? "" : file, line});
                },
                &into);
    if (is_known) return;
    into.names.clear();
    if (const char* symbol = dwfl_module_addrname(module, address)) {
        into.names.push_back({kind_at(symbol, nullptr), false, weft::detail::readable_name(symbol), "", 0});
    }
}

bool code::read_word(Dwfl*, Dwarf_Addr at, Dwarf_Word* into, void* self) noexcept {
    return static_cast<code*>(self)->memory_.get(at, *into);
}

bool code::give_registers(Dwfl_Thread* thread, void* self) noexcept {
    const thread_registers& start = static_cast<code*>(self)->start_;
    const auto give = [&](int number, Dwarf_Word value) {
        return dwfl_thread_state_registers(thread, number, 1, &value);
    };
    if (!give(own_registers.sp, start.sp)) return false;
    if (start.fp != 0 && !give(own_registers.fp, start.fp)) return false;
    if (own_registers.pc >= 0) return give(own_registers.pc, start.pc);
    dwfl_thread_state_register_pc(thread, start.pc);
    return true;
}

struct code::progress {
    unwound found;
    std::size_t most;
};

int code::take_frame(Dwfl_Frame* frame, void* into) noexcept {
    auto& p = *static_cast<progress*>(into);
    Dwarf_Addr pc = 0;
    if (!dwfl_frame_pc(frame, &pc, nullptr) || pc == 0) return DWARF_CB_ABORT;
    if (own_registers.pushes_return_address && !p.found.pcs.empty()) {
        Dwarf_Word sp = 0;
        const bool is_known = dwfl_frame_reg(frame, static_cast<unsigned>(own_registers.sp), &sp) == 0;
        if (is_known) p.found.slots.push_back(sp - sizeof(uint64_t));
    }
    p.found.pcs.push_back(pc);
    return p.found.pcs.size() < p.most ? DWARF_CB_OK : DWARF_CB_ABORT;
}

unwound code::unwind(const thread_registers& from, std::size_t most) {
    progress p{{}, most};
    if (!may_unwind_) return {};
    start_ = from;
    p.found.is_whole = dwfl_getthread_frames(dwfl_.get(), the_thread, &code::take_frame, &p) == 0;
    if (p.found.slots.size() + 1 != p.found.pcs.size()) p.found.slots.clear();
    return std::move(p.found);
}

}  // namespace weft::observe::detail
