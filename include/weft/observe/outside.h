// outside.h: the green threads of another process, or of a core file, read from outside.
//
//     weft::observe::outside other("4711");                        // a process, or the path of a core file
//     std::fputs(other.green_threads({}).c_str(), stdout);
//
// The process needs no preparation, is not stopped, and does not notice; it may hang, or be stopped
// itself. It needs the debug information of weft, in the program or in a separate debug file.
// Nothing is written to it. `weft ps` and `weft top` of the command line use this.
//
// See: docs/programs.md
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <weft/detail/require.h>

namespace weft::observe {

/// Empty texts: all green threads.
struct outside_options {
    bool grouped = true;          ///< those with equal stacks are one entry, as in a dump
    bool json = false;            ///< the form weft.ps/1
    std::string state;            ///< "runnable", "running", "in call", "waiting", or a wait such as "chan receive"
    std::string label;            ///< "key" or "key=value"
    std::string name;             ///< may have * and ?
    std::string started_at;       ///< "file.cc" or "file.cc:12"
    std::size_t groups_max = 30;  ///< of each runtime, of the text form; 0: all
};

class outside {
public:
    /// target: the number of a process, or the path of a core file. program: of a core file, if the
    /// program is not where it was. Throws std::runtime_error, which says what to do.
    explicit outside(const std::string& target, const std::string& program = "");
    ~outside();
    outside(const outside&) = delete;
    outside& operator=(const outside&) = delete;

    /// As they are now. Throws std::runtime_error, std::bad_alloc.
    [[nodiscard]] std::string green_threads(const outside_options& options);

    /// The fields of weft.state/1 that can be read from outside: docs/page.md#the-state. Of the
    /// runtime with the most green threads. Throws as above.
    [[nodiscard]] std::string state();

private:
    struct reader;
    std::unique_ptr<reader> reader_;
};

}  // namespace weft::observe
