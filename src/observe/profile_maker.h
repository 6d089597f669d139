// profile_maker.h: what all profiles need: the time, and the public object of a finished one.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <weft/observe/profile.h>

#include "observe/subject.h"
#include "observe/timeline.h"

namespace weft::observe {

struct profile_maker {
    [[nodiscard]] static profile make(std::string bytes) { return profile(std::move(bytes)); }
};

namespace detail {

// As goroutine_profile(). None: the runtime is stopped.
[[nodiscard]] std::optional<profile> goroutine_profile_of(const subject& of);

[[nodiscard]] inline int64_t unix_ns() noexcept {
    std::timespec now{};
    static_cast<void>(std::timespec_get(&now, TIME_UTC));
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace detail

}  // namespace weft::observe
