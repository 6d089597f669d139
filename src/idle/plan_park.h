// plan_park.h: where an idle M waits, until when, and whether it becomes the sentinel: step 4 of
// idle.h.
//
// A pure function of six facts, so that a test can check every combination. The first row that fits
// decides. As a table: docs/idle.md.
//
// Row 1: there is nothing to search for; the M that gives up a P parks later. Rows 2, 3: one M
// scans soon, because pushes wake no M (W2). Row 4: the near sentinel polls when it wakes (N3 of
// netpoll.h). Row 5: an idle M waits for events (N1). Row 6: a second one joins it (N5).
//
// See: docs/idle.md, test/model/idle.pml
#pragma once

#include <cstdint>

namespace weft::detail {

struct park_facts {
    bool some_p_idle;
    bool some_p_runs;
    bool backs_off;      // sentinel_backoff.h
    bool near_sentinel;  // another M is it
    bool poller_empty;   // the poller is in use, and no M is there
    bool may_join;       // one M waits in the poller, and this one may wait beside it
};

enum class park_place : uint8_t { note, poller };
enum class park_alarm : uint8_t { none, timer, soon };
enum class sentinel_claim : uint8_t {
    no,
    if_earlier,           // if there is no sentinel, or its alarm is later
    unless_first_covers,  // if vacant, and its alarm is early enough, the M that waits in the poller becomes it instead
    yes,
};

struct park_plan {
    park_place place;
    park_alarm alarm;
    sentinel_claim claim;
    int row;

    friend constexpr bool operator==(const park_plan&, const park_plan&) = default;
};

[[nodiscard]] constexpr park_plan plan_park(const park_facts& f) noexcept {
    using enum sentinel_claim;
    if (!f.some_p_idle) return {park_place::note, park_alarm::none, no, 1};
    const bool scans_soon = f.some_p_runs && !f.backs_off;
    if (scans_soon && f.near_sentinel) return {park_place::note, park_alarm::soon, if_earlier, 2};
    if (scans_soon) return {park_place::note, park_alarm::soon, yes, 3};
    if (f.some_p_runs && f.near_sentinel) return {park_place::note, park_alarm::timer, if_earlier, 4};
    if (f.poller_empty) return {park_place::poller, park_alarm::timer, f.near_sentinel ? if_earlier : yes, 5};
    if (!f.some_p_runs && f.may_join) return {park_place::poller, park_alarm::timer, unless_first_covers, 6};
    return {park_place::note, park_alarm::timer, if_earlier, 7};
}

}  // namespace weft::detail
