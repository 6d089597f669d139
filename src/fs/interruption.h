// interruption.h: cancellation points between the steps of a long operation on files.
#pragma once

#include <system_error>

#include <weft/cancel.h>
#include <weft/error.h>

namespace weft::fs::detail {

// Whether a context around the caller is cancelled, or its deadline has passed. Sets ec then.
[[nodiscard]] inline bool is_interrupted(std::error_code& ec) {
    try {
        throw_if_cancelled();
        return false;
    } catch (const cancelled&) {
        ec = errc::cancelled;
    } catch (const timed_out&) {
        ec = errc::timed_out;
    }
    return true;
}

}  // namespace weft::fs::detail
