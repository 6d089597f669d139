// properties.h: what must hold at a place of the program, and what must happen at least once.
//
//     WEFT_ALWAYS(balance >= 0, "no account is overdrawn");      // each time it is reached
//     WEFT_SOMETIMES(retries > 0, "a request is tried again");   // in at least one schedule
//     WEFT_REACHABLE("a leader steps down");
//     WEFT_UNREACHABLE("two leaders in one term");
//
// A test shows nothing if its simulation never gets to the rare case. WEFT_SOMETIMES and
// WEFT_REACHABLE notice it: unmet_properties() lists those that were never true.
//
// They may stay in the program: outside of simulations each costs two instructions and evaluates no
// condition. The words are those of Antithesis' SDK.
//
// See: docs/sim.md#properties
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <weft/detail/step.h>

namespace weft::sim {

enum class property_kind : uint8_t { always, always_or_unreachable, sometimes, reachable, unreachable };

/// One of the macros below in the text of the program.
struct property {
    property_kind kind;
    std::string name;
    std::string file;
    unsigned line;
    uint64_t held;    ///< how often its condition was true, in all simulations of the process
    uint64_t failed;  ///< or false
};

/// All properties of the program's files that use weft::sim, whether they were reached or not.
[[nodiscard]] std::vector<property> properties();

/// Those that should have held at least once, and have not: WEFT_ALWAYS, WEFT_SOMETIMES and
/// WEFT_REACHABLE.
[[nodiscard]] std::vector<property> unmet_properties();

namespace detail {

struct property_record {
    property_record(property_kind of_kind, const char* of_name, const char* in_file, unsigned in_line) noexcept;
    property_record(const property_record&) = delete;
    property_record& operator=(const property_record&) = delete;

    const property_kind kind;
    const char* const name;
    const char* const file;
    const unsigned line;
    weft::detail::atomic<uint64_t> held{0};
    weft::detail::atomic<uint64_t> failed{0};
    property_record* const next;
};

// Made when the program starts, for each place: where is a type that only the place has.
template <typename Where>
struct property_of {
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wglobal-constructors"
#endif
    static inline property_record record{Where::kind(), Where::name(), Where::file(), Where::line()};
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
};

// Counts. If the property is violated, the schedule has failed.
void note(property_record& r, bool holds) noexcept;

}  // namespace detail

}  // namespace weft::sim

#define WEFT_PROPERTY_(of_kind, condition, text)                                            \
    do {                                                                                    \
        struct weft_place {                                                                 \
            static constexpr ::weft::sim::property_kind kind() { return of_kind; }          \
            static constexpr unsigned line() { return __LINE__; }                           \
            static constexpr const char* name() { return text; }                            \
            static constexpr const char* file() { return __FILE__; }                        \
        };                                                                                  \
        if (::weft::detail::simulates())                                                    \
            ::weft::sim::detail::note(::weft::sim::detail::property_of<weft_place>::record, \
                                      (condition) ? true : false);                          \
    } while (false)

/// The condition holds each time, and the place is reached in some schedule.
#define WEFT_ALWAYS(condition, name) WEFT_PROPERTY_(::weft::sim::property_kind::always, condition, name)
/// The condition holds each time.
#define WEFT_ALWAYS_OR_UNREACHABLE(condition, name) \
    WEFT_PROPERTY_(::weft::sim::property_kind::always_or_unreachable, condition, name)
/// The condition holds in some schedule.
#define WEFT_SOMETIMES(condition, name) WEFT_PROPERTY_(::weft::sim::property_kind::sometimes, condition, name)
/// The place is reached in some schedule.
#define WEFT_REACHABLE(name) WEFT_PROPERTY_(::weft::sim::property_kind::reachable, true, name)
/// The place is never reached.
#define WEFT_UNREACHABLE(name) WEFT_PROPERTY_(::weft::sim::property_kind::unreachable, false, name)
