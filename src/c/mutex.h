// mutex.h: what a run_mutex_t is.
//
// See: weft/run/mutex.h
#pragma once

#include <weft/run/mutex.h>
#include <weft/timed_mutex.h>

struct run_mutex {
    weft::timed_mutex m;
};
