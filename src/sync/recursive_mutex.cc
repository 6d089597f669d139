// recursive_mutex.cc: errors of weft::recursive_mutex. See weft/recursive_mutex.h.
#include <system_error>

#include <weft/recursive_mutex.h>

#include "base/assert.h"

namespace weft {

void recursive_mutex::throw_too_deep() {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again),
                            "weft: a recursive_mutex has reached its maximum depth; look for recursion without unlock");
}

void recursive_mutex::fatal_not_held() const noexcept {
    // relaxed: a snapshot
    if (holder_.load(detail::relaxed) == nullptr)
        detail::fatal("unlock of an unlocked weft::recursive_mutex; pair lock and unlock with std::lock_guard");
    const detail::owner_text holder(number_.load(detail::relaxed));  // relaxed: as above
    detail::fatal("unlock of a weft::recursive_mutex that is locked by %s; unlock it in the thread that locked it",
                  holder.text);
}

}  // namespace weft
