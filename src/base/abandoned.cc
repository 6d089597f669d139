// abandoned.cc: see abandoned.h.
#include "base/abandoned.h"

#include "base/atomic.h"

namespace weft::detail::abandoned {

namespace {

// relaxed: the thread that runs a destructor has synchronised with the one that causes it.
constinit atomic<uint32_t> seen{0};

}  // namespace

void add(uint32_t what) noexcept { seen.fetch_or(what, relaxed); }  // relaxed: see above

bool may_be(bool waited_on) noexcept {
    return (seen.load(relaxed) & (waited_on ? waits : locks | waits)) != 0;  // relaxed: see above
}

bool at_exit() noexcept { return (seen.load(relaxed) & exit) != 0; }  // relaxed: see above

}  // namespace weft::detail::abandoned
