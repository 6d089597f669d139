// access.h: what weft::observe sees of a runtime, and of its own public classes.
//
// Threads: any.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <weft/observe/recorder.h>
#include <weft/runtime.h>

namespace weft::observe::detail {

struct access {
    // nullptr: it is stopped.
    [[nodiscard]] static weft::detail::runtime_use use_of(const runtime& rt) { return rt.use(); }

    // Keeps the runtime from being destroyed meanwhile. Throws std::logic_error, which begins with
    // `what`, if it is stopped.
    [[nodiscard]] static weft::detail::runtime_use of(const runtime& rt, const char* what) {
        weft::detail::runtime_use s = rt.use();
        if (s == nullptr) throw std::logic_error(std::string(what) + " a stopped runtime; call start() first");
        return s;
    }

    [[nodiscard]] static const std::shared_ptr<session>& session_of(const recorder& r) noexcept { return r.session_; }

    [[nodiscard]] static recording recording_of(std::shared_ptr<const recorded> content) noexcept {
        return recording(std::move(content));
    }

    [[nodiscard]] static const recorded& content_of(const recording& r) noexcept { return *r.recorded_; }
};

}  // namespace weft::observe::detail
