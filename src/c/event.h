// event.h: the type behind run_event_t.
//
// See: weft/run/event.h
#pragma once

#include <weft/event.h>
#include <weft/run/event.h>

struct run_event {
    weft::event e;
};
