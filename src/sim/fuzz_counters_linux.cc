// fuzz_counters_linux.cc: see fuzz_counters.h.
#include <array>
#include <cstddef>
#include <cstdint>

#include "sim/fuzz_counters.h"

namespace weft::sim {

namespace {

// libFuzzer's name for counters of programs.
[[gnu::section("__libfuzzer_extra_counters"), gnu::used]] std::array<uint8_t, 4096> counters;

}  // namespace

void cover_switch(const candidate& from, const candidate& to) noexcept {
    if (from.g == to.g) return;
    std::size_t place = from.g;
    for (const std::size_t part :
         {static_cast<std::size_t>(from.next), std::size_t{to.g}, static_cast<std::size_t>(to.next)})
        place = place * 31 + part;
    uint8_t& counter = counters[place % counters.size()];
    if (counter != UINT8_MAX) ++counter;
}

}  // namespace weft::sim
