// watch.h: the type behind run_watch_t.
//
// See: weft/run/net.h
#pragma once

#include <weft/run/net.h>
#include <weft/wait_fd.h>

struct run_watch {
    weft::watched_fd fd;
};
