// trace.h: what a program adds to a recording of its green threads: regions, counters, messages.
//
// In a green thread they cost a few instructions until something records (weft::observe::recorder),
// and then about 20 ns each. A plain thread takes a lock for a moment to find the default runtime.
//
// See: docs/recording.md
#pragma once

#include <string_view>

#include <weft/detail/require.h>

namespace weft::trace {

/// A string literal. A recording keeps its address, so the text must outlive the program's last
/// recording.
class literal {
public:
    consteval literal(const char* text) noexcept : text_(text) {}  // NOLINT: as the literal

    [[nodiscard]] const char* text() const noexcept { return text_; }

private:
    const char* text_;
};

namespace detail {
void begin_region(const char* name) noexcept;
void end_region() noexcept;
}  // namespace detail

/// Part of the work of a green thread, from the constructor to the destructor. Regions of one green
/// thread nest. In a plain thread it has no effect.
class region {
public:
    explicit region(literal name) noexcept { detail::begin_region(name.text()); }

    ~region() { detail::end_region(); }

    region(const region&) = delete;
    region& operator=(const region&) = delete;
};

/// Records that the counter of this name now has this value. Any thread; a plain one takes a lock.
void counter(literal name, double value) noexcept;

/// Records a message of the calling green thread, or thread. At most 1000 bytes of it are kept. A
/// plain thread takes a lock.
void log(std::string_view message) noexcept;

/// True while something records the runtime of the calling green thread, or the default runtime.
/// For programs that would otherwise compute what they log.
[[nodiscard]] bool is_recorded() noexcept;

}  // namespace weft::trace
