// source_location.h: weft::source_location is std::source_location, or what stands in for it.
//
// Clang before version 15 does not have what libstdc++ needs to make one. There a class with the same members stands in: its current() knows
// nothing, so dumps and reports do not say where a green thread was started. A program that is compiled so needs a weft that is compiled so.
//
// Who: any thread.
#pragma once

#include <cstdint>
#include <source_location>

#include <weft/detail/require.h>

namespace weft {

#if defined(__cpp_lib_source_location)

using std::source_location;

#else

// A pointer to a constant, as the standard libraries have it: src/c/place.cc makes some from C.
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
