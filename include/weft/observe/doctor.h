// doctor.h: says whether what shows a program's insides really works here, and what is missing.
//
//     std::fputs(weft::observe::diagnosis().c_str(), stderr);
//
// `weft doctor` does the same for itself, and so for this machine.
//
// See: docs/recording.md
#pragma once

#include <string>
#include <vector>

#include <weft/detail/require.h>

namespace weft::observe {

enum class health {
    good,
    limited,  ///< something works less well, or only for some users
    broken,
};

struct finding {
    std::string what;  ///< such as "recording"
    health is = health::good;
    std::string why;     ///< what was seen
    std::string remedy;  ///< empty if nothing needs to be done
};

/// Tries recording, files of recordings, and names in reports, in a runtime of its own, and reads
/// the settings of the system that debuggers and profilers need. Takes up to a second, writes two
/// small files in the temporary directory, and removes them. Any plain thread. Throws
/// std::bad_alloc.
[[nodiscard]] std::vector<finding> diagnose();

/// One line, and one for the remedy.
[[nodiscard]] std::string text_of(const finding& f);

/// The text of all that diagnose() finds.
[[nodiscard]] std::string diagnosis();

}  // namespace weft::observe
