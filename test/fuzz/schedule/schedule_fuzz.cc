// schedule_fuzz.cc: a fuzzer chooses schedules. It must find one order of 2.7 million.
#include <mutex>
#include <stdexcept>

#include <weft/mutex.h>
#include <weft/scope.h>
#include <weft/sim/fuzz.h>

namespace {

constexpr int top = 24;

// A branch of its own for each floor, as the states of a protocol have.
template <int floor>
bool goes_up(int at, int button) {
    if constexpr (floor == top) {
        return false;
    } else {
        if (at != floor) return goes_up<floor + 1>(at, button);
        return button == floor % 2;
    }
}

// Two green threads press a button each, twelve times. The lift goes up if the other button was
// pressed before.
class lift {
public:
    void press(int button) {
        const std::lock_guard lock(lock_);
        if (goes_up<0>(floor_, button)) ++floor_;
        if (floor_ == top) throw std::runtime_error("the lift has no more floors");
    }

private:
    weft::mutex lock_;
    int floor_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    return weft::sim::fuzz(data, size, [] {
        lift l;
        weft::scope([&](weft::task_scope& s) {
            for (int button = 0; button < 2; ++button) {
                s.go([&l, button] {
                    for (int i = 0; i < top / 2; ++i) l.press(button);
                });
            }
        });
    });
}
