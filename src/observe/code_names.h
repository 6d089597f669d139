// code_names.h: the functions and lines at addresses of code, for profiles.
//
// Names come from the process that names functions for reports (symbols/symbol_service.h). It has
// a time limit; addresses that it does not answer have the name that the dynamic linker knows, or
// none. The mapping of each address is that of this moment.
//
// Threads: one. It blocks.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
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

class code_names {
public:
    // Reads the mappings, and adds them to the profile.
    explicit code_names(pprof& into);

    // The locations of a stack, innermost first. is_first_exact: the first address is that of an
    // instruction; all others are return addresses. return_without_frame: nullptr, or where the
    // function at the first address may return to, if it has no frame.
    [[nodiscard]] std::vector<uint64_t> locations_of(std::span<const void* const> pcs,
                                                     bool is_first_exact,
                                                     shown_frames shown,
                                                     const void* return_without_frame = nullptr);

    [[nodiscard]] uint64_t unnamed() const noexcept { return unnamed_; }

private:
    struct named_line {
        code_line text;
        weft::detail::symbol_kind kind;
    };

    struct named_code {
        uint64_t address = 0;
        uint64_t mapping = 0;  // 0: none
        std::vector<named_line> lines;
    };

    // Of a stack: a line of one of its addresses.
    struct shown_line {
        const named_code* code;
        std::size_t line;
    };

    const named_code& name(const void* pc, bool is_exact);
    [[nodiscard]] bool calls_function_at(const void* return_address, const void* pc);
    [[nodiscard]] std::vector<uint64_t> add_lines(std::span<const shown_line> lines);
    void ask(const void* pc, bool is_exact, named_code& into);
    [[nodiscard]] uint64_t mapping_of(uint64_t address) const noexcept;

    pprof& into_;
    weft::detail::symbolizer names_;
    std::map<uint64_t, std::pair<uint64_t, uint64_t>> mappings_;  // by begin: end, number
    std::unordered_map<uint64_t, named_code> known_;              // by address
    uint64_t unnamed_ = 0;
};

}  // namespace weft::observe::detail
