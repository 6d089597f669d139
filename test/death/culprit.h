// culprit.h: runs the faulty code of a death test, and gives the report lines that name the
// culprit.
#pragma once

#include <thread>

#include <weft/weft.h>

namespace weft::test {

// The second line of a fatal error, for a green thread that as_culprit() started and for a plain
// thread.
inline constexpr const char* culprit = "weft: in green thread %d \"culprit\" (started by %d at %sculprit.h:%d, in %s)";
inline constexpr const char* plain_thread = "weft: in a plain thread (tid %d)";

// One of the lines that follow.
inline constexpr const char* frame_line = "    #%d%s %s (%s+0x%x)";

// Runs f as a green thread called culprit. On one processor, a green thread that f starts runs
// until it waits each time f yields.
template <typename F>
void as_culprit(F&& f, unsigned procs = 1) {
    runtime rt({.procs = procs});
    rt.run([&] {
        wait_group all;
        all.go({.name = "culprit"}, f);
        all.wait();
    });
}

// Runs f in a plain thread while a runtime exists.
template <typename F>
void as_plain_thread(F&& f) {
    runtime rt({.procs = 1});
    std::thread(f).join();
}

}  // namespace weft::test
