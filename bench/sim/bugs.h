// bugs.h: five bugs that only some orders show, as programs over weft. The same ones are in peers/.
#pragma once

#include <mutex>
#include <stdexcept>

#include <weft/weft.h>

namespace bugs {

// An addition between two locks is lost.
inline void lost_update() {
    int x = 0;
    weft::mutex m;
    weft::wait_group both;
    for (int i = 0; i < 2; ++i) {
        both.go([&] {
            m.lock();
            const int seen = x;
            m.unlock();
            m.lock();
            x = seen + 1;
            m.unlock();
        });
    }
    both.wait();
    if (x != 2) throw std::runtime_error("an addition was lost");
}

// Two locks in two orders.
inline void inverted_locks() {
    weft::mutex a;
    weft::mutex b;
    weft::wait_group both;
    both.go([&] {
        const std::lock_guard first(a);
        const std::lock_guard second(b);
    });
    both.go([&] {
        const std::lock_guard first(b);
        const std::lock_guard second(a);
    });
    both.wait();
}

// A flag that is read before the lock under which its change is announced.
inline void lost_wakeup() {
    bool done = false;
    weft::mutex m;
    weft::condition_variable changed;
    weft::wait_group one;
    one.go([&] {
        m.lock();
        const bool seen = done;
        m.unlock();
        if (seen) return;
        std::unique_lock held(m);
        changed.wait(held);
    });
    {
        const std::lock_guard held(m);
        done = true;
        changed.notify_all();
    }
    one.wait();
}

// One condition for two reasons, and notify_one.
inline void notified_the_wrong_one() {
    int items = 0;
    weft::mutex m;
    weft::condition_variable changed;
    weft::wait_group all;
    for (int i = 0; i < 2; ++i) {
        all.go([&] {
            for (int n = 0; n < 2; ++n) {
                std::unique_lock held(m);
                while (items == 1) changed.wait(held);
                ++items;
                changed.notify_one();
            }
        });
        all.go([&] {
            for (int n = 0; n < 2; ++n) {
                std::unique_lock held(m);
                while (items == 0) changed.wait(held);
                --items;
                changed.notify_one();
            }
        });
    }
    all.wait();
}

// A barrier that is used again before all have left.
inline void barrier_without_phases() {
    int arrived = 0;
    weft::mutex m;
    weft::condition_variable all_here;
    const auto meet = [&] {
        std::unique_lock held(m);
        if (++arrived == 2) {
            arrived = 0;
            all_here.notify_all();
            return;
        }
        while (arrived != 0) all_here.wait(held);
    };
    weft::wait_group both;
    for (int i = 0; i < 2; ++i) {
        both.go([&] {
            meet();
            meet();
        });
    }
    both.wait();
}

}  // namespace bugs
