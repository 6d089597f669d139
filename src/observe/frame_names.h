// frame_names.h: the functions and lines at addresses of code, and which of them are shown.
//
// Names come from the process that names functions for reports (symbols/symbol_service.h). It has
// a time limit; addresses that it does not answer have the name that the dynamic linker knows, or
// none. The mapping of each address is that of the moment when the mappings were read.
//
// Threads: one. It blocks.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "observe/pprof.h"
#include "symbols/symbol.h"
#include "symbols/symbolizer.h"

namespace weft::observe::detail {

// What of a stack is left out, so that the first function says what the green thread does, not how
// the runtime does it.
enum class shown_frames : uint8_t {
    all_but_start,  // without how the runtime calls the program
    from_call,      // and without what is inside the public function of weft
};

class frame_names {
public:
    struct named_line {
        code_line text;
        weft::detail::symbol_kind kind;
    };

    // Lines: innermost call first, those expanded in others before these.
    struct named_code {
        uint64_t address = 0;
        std::size_t file = 0;  // an index of files() + 1; 0: none
        std::vector<named_line> lines;
    };

    // Of a stack: a line of one of its addresses.
    struct shown_line {
        const named_code* code;
        std::size_t line;
    };

    // Reads the mappings.
    frame_names();

    // Reads them again: libraries may have been loaded.
    void renew();

    // The program first, if it is known. Further ones come after them.
    [[nodiscard]] const std::vector<code_file>& files() const noexcept { return files_; }

    // The lines of a stack, innermost first. is_first_exact: the first address is that of an
    // instruction; all others are return addresses. return_without_frame: nullptr, or where the
    // function at the first address may return to, if it has no frame.
    [[nodiscard]] std::vector<shown_line> lines_of(std::span<const void* const> pcs,
                                                   bool is_first_exact,
                                                   shown_frames shown,
                                                   const void* return_without_frame = nullptr);

    // Addresses without a name.
    [[nodiscard]] uint64_t unnamed() const noexcept { return unnamed_; }

private:
    const named_code& name(const void* pc, bool is_exact);
    [[nodiscard]] bool calls_function_at(const void* return_address, const void* pc);
    void ask(const void* pc, bool is_exact, named_code& into);
    [[nodiscard]] std::size_t file_of(uint64_t address) const noexcept;

    weft::detail::symbolizer names_;
    std::vector<code_file> files_;
    std::map<uint64_t, std::pair<uint64_t, std::size_t>> mappings_;  // by begin: end, an index of files_ + 1
    std::unordered_map<uint64_t, named_code> known_;                 // by address
    uint64_t unnamed_ = 0;
};

}  // namespace weft::observe::detail
