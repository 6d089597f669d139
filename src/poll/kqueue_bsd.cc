// kqueue_bsd.cc: this system's backend; see kqueue.h.
#include <memory>
#include <new>

#include "poll/kqueue.h"

namespace weft::detail {

std::unique_ptr<poll_backend> make_poll_backend() noexcept {
    return std::unique_ptr<poll_backend>(new (std::nothrow) kqueue_backend);
}

}  // namespace weft::detail
