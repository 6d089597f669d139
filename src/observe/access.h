// access.h: what weft::observe sees of a runtime.
//
// Threads: any.
#pragma once

#include <stdexcept>
#include <string>

#include <weft/runtime.h>

namespace weft::observe::detail {

struct access {
    // Keeps the runtime from being destroyed meanwhile. Throws std::logic_error, which begins with
    // `what`, if it is stopped.
    [[nodiscard]] static weft::detail::runtime_use of(const runtime& rt, const char* what) {
        weft::detail::runtime_use s = rt.use();
        if (s == nullptr) throw std::logic_error(std::string(what) + " a stopped runtime; call start() first");
        return s;
    }
};

}  // namespace weft::observe::detail
