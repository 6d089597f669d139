// watch.h: what a run_watch_t is.
//
// See: weft/run/net.h
#pragma once

#include <weft/run/net.h>
#include <weft/wait_fd.h>

struct run_watch {
    weft::watched_fd fd;
};
