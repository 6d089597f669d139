// code_names.h: the functions and lines at addresses of code, for profiles.
//
// Threads: one. It blocks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "observe/frame_names.h"
#include "observe/pprof.h"

namespace weft::observe::detail {

class code_names {
public:
    // Adds the mappings of this moment to the profile.
    explicit code_names(pprof& into);

    // The locations of a stack, as frame_names::lines_of.
    [[nodiscard]] std::vector<uint64_t> locations_of(std::span<const void* const> pcs,
                                                     bool is_first_exact,
                                                     shown_frames shown,
                                                     const void* return_without_frame = nullptr);

    [[nodiscard]] uint64_t unnamed() const noexcept { return names_.unnamed(); }

private:
    pprof& into_;
    frame_names names_;
    std::vector<uint64_t> mappings_;  // numbers in the profile, by the index of the file
};

}  // namespace weft::observe::detail
