// shared.cc: see weft/sim/shared.h.
#include <weft/sim/shared.h>

#include "sim/controlled_run.h"

namespace weft::sim::detail {

namespace {

constinit weft::detail::atomic<bool> noted{false};

}  // namespace

bool has_shared_values() noexcept { return noted.load(weft::detail::relaxed); }  // relaxed: set before main()

bool note_shared_values() noexcept {
    noted.store(true, weft::detail::relaxed);  // relaxed: as above
    return true;
}

void access(const void* value, bool writes, const std::source_location& where) noexcept {
    using weft::detail::operation;
    weft::detail::take_step(writes ? operation::value_write : operation::value_read, value);
    if (controlled_run* run = controlled_run::of_caller()) run->access(value, writes, where);
}

void forget_value(const void* value) noexcept {
    if (controlled_run* run = controlled_run::of_caller()) run->forget_value(value);
}

}  // namespace weft::sim::detail
