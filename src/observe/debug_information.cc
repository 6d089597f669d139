// debug_information.cc: lines and inlined calls, by elfutils: weft_find_in_debug_information.
//
// Runs in the process of symbols/symbol_service.h, so it may allocate and take its time. Separate
// debug files are found as debuggers find them: by build id or by .gnu_debuglink, under
// /usr/lib/debug and beside the file. Nothing is downloaded.
//
// Threads: the only thread of that process.
#include "symbols/debug_information.h"

#include <elfutils/libdwfl.h>

#include <map>
#include <memory>
#include <string>

#include "observe/code_lines.h"

namespace weft::detail {

namespace {

struct end_dwfl {
    void operator()(Dwfl* d) const noexcept { dwfl_end(d); }
};

constexpr Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                      .find_debuginfo = dwfl_standard_find_debuginfo,
                                      .section_address = dwfl_offline_section_address,
                                      .debuginfo_path = nullptr};

// One file of code, with its debug information.
class module_file {
public:
    explicit module_file(const char* path) : dwfl_(dwfl_begin(&callbacks)), lines_(report(path)) {}

    bool find(uint64_t address, found_frame found, void* closure) { return lines_.find(address, found, closure); }

private:
    Dwfl_Module* report(const char* path) noexcept {
        if (dwfl_ == nullptr) return nullptr;
        dwfl_report_begin(dwfl_.get());
        Dwfl_Module* module = dwfl_report_elf(dwfl_.get(), path, path, -1, 0, true);
        dwfl_report_end(dwfl_.get(), nullptr, nullptr);
        return module;
    }

    std::unique_ptr<Dwfl, end_dwfl> dwfl_;
    code_lines lines_;
};

}  // namespace

}  // namespace weft::detail

bool weft_find_in_debug_information(const char* path,
                                    uint64_t address,
                                    weft::detail::found_frame found,
                                    void* closure) {
    static std::map<std::string, weft::detail::module_file> files;
    return files.try_emplace(path, path).first->second.find(address, found, closure);
}
