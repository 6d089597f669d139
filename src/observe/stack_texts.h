// stack_texts.h: the stacks in a recording, from addresses to names.
//
// A stack is a text with one line for each function, innermost first, from the public function of
// weft on that the program has called: "load(std::string const&) at cache.cc:12".
//
// Threads: one. It blocks.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "observe/frame_names.h"
#include "observe/recorded.h"

namespace weft::observe::detail {

class stack_texts {
public:
    // The texts of r's stack events, which are addresses in this process, become names.
    void name(recorded& r);

private:
    std::unique_ptr<frame_names> names_;                  // from the first stack on
    std::unordered_map<std::string, std::string> known_;  // by addresses
};

}  // namespace weft::observe::detail
