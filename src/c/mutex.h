// mutex.h: the type behind run_mutex_t.
//
// See: weft/run/mutex.h
#pragma once

#include <weft/run/mutex.h>
#include <weft/timed_mutex.h>

struct run_mutex {
    weft::timed_mutex m;
};
