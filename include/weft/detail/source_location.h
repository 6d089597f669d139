// source_location.h: weft::source_location is std::source_location, or a replacement.
//
// Clang before version 15 lacks what libstdc++ needs for std::source_location. There a class with
// the same members replaces it. Its current() is empty, so dumps and reports do not say where a
// green thread was started. A program compiled this way needs a weft compiled this way.
//
// Threads: any thread.
#pragma once

#include <cstdint>
#include <source_location>

#include <weft/detail/require.h>

namespace weft {

#if defined(__cpp_lib_source_location)

using std::source_location;

#else

// Holds a pointer to a constant, as in the standard libraries: src/c/place.cc makes some from C.
class source_location {
public:
    [[nodiscard]] static constexpr source_location current() noexcept { return {}; }

    [[nodiscard]] constexpr const char* file_name() const noexcept { return place_ == nullptr ? "" : place_->file; }

    [[nodiscard]] constexpr const char* function_name() const noexcept {
        return place_ == nullptr ? "" : place_->function;
    }

    [[nodiscard]] constexpr uint_least32_t line() const noexcept { return place_ == nullptr ? 0 : place_->line; }

    [[nodiscard]] constexpr uint_least32_t column() const noexcept { return place_ == nullptr ? 0 : place_->column; }

private:
    struct place {
        const char* file;
        const char* function;
        unsigned line;
        unsigned column;
    };

    const place* place_ = nullptr;
};

#endif

}  // namespace weft
