// table_frames_windows_x86_64_test.cc: the frames found by tables are those of the C++ unwinder.
#include <vector>

#include <gtest/gtest.h>

#include "os/table_frames.h"
#include "os/unwind.h"
#include "os/windows_api.h"

namespace weft::detail::os {
namespace {

bool may_read(const void* /*closure*/, uintptr_t /*at*/) noexcept { return true; }

bool may_not_read(const void* /*closure*/, uintptr_t /*at*/) noexcept { return false; }

struct found_frames {
    std::vector<const void*> by_tables;
    std::vector<const void*> by_unwinder;
};

// The frames of the caller and those outside of it.
[[gnu::noinline]] found_frames find_frames() {
    found_frames found;
    CONTEXT here;
    RtlCaptureContext(&here);
    table_frame at{reinterpret_cast<const void*>(here.Rip), here.Rsp, here.Rbp};
    while (leave_frame(at, false, &may_read, nullptr) && found.by_tables.size() < 100) found.by_tables.push_back(at.pc);
    for_each_own_frame(
        [](void* closure, const void* pc) {
            static_cast<std::vector<const void*>*>(closure)->push_back(pc);
            return true;
        },
        &found.by_unwinder);
    // The unwinder's first frames are for_each_own_frame and this function.
    while (!found.by_tables.empty() && !found.by_unwinder.empty() &&
           found.by_unwinder.front() != found.by_tables.front())
        found.by_unwinder.erase(found.by_unwinder.begin());
    return found;
}

TEST(TableFrames, AreThoseOfTheUnwinder) {
    const found_frames found = find_frames();
    EXPECT_GT(found.by_tables.size(), 5U);
    EXPECT_EQ(found.by_tables, found.by_unwinder);
}

[[gnu::noinline]] found_frames find_frames_below_a_large_frame(int depth) {
    volatile char large[10'000];
    large[0] = 1;
    found_frames found = depth == 0 ? find_frames() : find_frames_below_a_large_frame(depth - 1);
    large[1] = 1;
    return found;
}

TEST(TableFrames, LeadThroughLargeFrames) {
    const found_frames found = find_frames_below_a_large_frame(3);
    EXPECT_GT(found.by_tables.size(), 8U);
    EXPECT_EQ(found.by_tables, found.by_unwinder);
}

TEST(TableFrames, NothingIsReadThatMayNotBeRead) {
    CONTEXT here;
    RtlCaptureContext(&here);
    table_frame at{reinterpret_cast<const void*>(here.Rip), here.Rsp, here.Rbp};
    EXPECT_FALSE(leave_frame(at, false, &may_not_read, nullptr));
}

TEST(TableFrames, AnUnknownFramePointerIsNotFollowed) {
    CONTEXT here;
    RtlCaptureContext(&here);
    table_frame at{reinterpret_cast<const void*>(here.Rip), here.Rsp, 0};
    EXPECT_FALSE(leave_frame(at, false, &may_read, nullptr));
}

}  // namespace
}  // namespace weft::detail::os
