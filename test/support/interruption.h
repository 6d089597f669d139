// interruption.h: how an interruptible wait has ended.
#pragma once

#include <ostream>
#include <utility>

#include <weft/error.h>

namespace weft::test {

enum class ending {
    served,     // it returned
    cancelled,  // it threw weft::cancelled
    timed_out,  // it threw weft::timed_out
};

inline std::ostream& operator<<(std::ostream& out, ending e) {
    return out << (e == ending::served ? "served" : e == ending::cancelled ? "cancelled" : "timed out");
}

// How wait() ends.
template <typename F>
[[nodiscard]] ending ending_of(F&& wait) {
    try {
        static_cast<void>(std::forward<F>(wait)());
        return ending::served;
    } catch (const cancelled&) {
        return ending::cancelled;
    } catch (const timed_out&) {
        return ending::timed_out;
    }
}

}  // namespace weft::test
