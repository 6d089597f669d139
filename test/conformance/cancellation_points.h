// cancellation_points.h: the calls of weft that wait for an event and that a deadline or a
// cancellation around them ends.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <vector>

#include <weft/backoff.h>
#include <weft/chan_adaptors.h>
#include <weft/rate_limiter.h>
#include <weft/weft.h>
#include <weft/weighted_semaphore.h>

namespace weft::test {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

inline chan<int> full_channel() {
    chan<int> c(1);
    c.send(0);
    return c;
}

// A call that waits for ever. It owns what it waits for: a waiter left behind when that is
// destroyed would be a fatal error.
struct point {
    const char* name;
    std::function<void()> wait;
};

// Calls f with a future that stays pending until the gate of its green thread is closed.
template <typename F>
void with_pending_future(F f) {
    const chan<int> gate;
    auto pending = async([gate] { gate.recv(); });

    struct open_at_end {
        const chan<int>& gate;

        ~open_at_end() { gate.close(); }
    } const at_end{gate};

    f(pending);
}

inline const std::vector<point>& points() {
    static const std::vector<point> all = {
        {"recv", [] { chan<int>().recv(); }},
        {"recv_for", [] { static_cast<void>(chan<int>(2).recv_for(1h)); }},
        {"recv_until", [] { static_cast<void>(chan<int>().recv_until(steady_clock::now() + 1h)); }},
        {"recv of nil", [] { chan<int>::nil().recv(); }},
        {"recv_for of nil", [] { static_cast<void>(chan<int>::nil().recv_for(1h)); }},
        {"a view's recv", [] { recv_chan<int>(chan<int>()).recv(); }},
        {"range-for",
         [] {
             for (const int v : chan<int>()) static_cast<void>(v);
         }},
        {"send", [] { chan<int>().send(1); }},
        {"send when full", [] { full_channel().send(1); }},
        {"send_for", [] { static_cast<void>(chan<int>().send_for(1, 1h)); }},
        {"send_until", [] { static_cast<void>(full_channel().send_until(1, steady_clock::now() + 1h)); }},
        {"send to nil", [] { chan<int>::nil().send(1); }},
        {"a view's send", [] { send_chan<int>(chan<int>()).send(1); }},
        {"select",
         [] {
             const chan<int> a;
             const chan<int> b = full_channel();
             select(on_recv(a, [](auto) {}), on_send(b, 1, [] {}), on_recv(a, [](auto) {}), on_timeout(1h, [] {}));
         }},
        {"select in value form",
         [] {
             const chan<int> a;
             static_cast<void>(select(recv_case(a), send_case(a, 1)));
         }},
        {"select of one case", [] { static_cast<void>(select(recv_case(chan<int>()))); }},
        {"select_first",
         [] {
             const chan<int> a;
             const chan<int> b;
             select_first(on_recv(a, [](auto) {}), on_send(b, 1, [] {}));
         }},
        {"select without cases", [] { select(); }},
        {"select of nil channels", [] { static_cast<void>(select(recv_case(chan<int>::nil()))); }},
        {"select of a timeout", [] { static_cast<void>(select(timeout_case(1h))); }},
        {"select of a future",
         [] {
             with_pending_future(
                 [](auto& f) { static_cast<void>(select(ready_case(f), ready_case(f), recv_case(chan<int>()))); });
         }},
        {"select_set::wait",
         [] {
             select_set set;
             set.add_recv(chan<int>(), [](auto) {});
             set.add_send(chan<int>(), 1, [] {});
             set.wait();
         }},
        {"select_set::wait_for",
         [] {
             select_set set;
             set.add_recv(chan<int>(), [](auto) {});
             static_cast<void>(set.wait_for(1h));
         }},
        {"sleep_for", [] { sleep_for(1h); }},
        {"sleep_for for ever", [] { sleep_for(std::chrono::hours::max()); }},
        {"sleep_until", [] { sleep_until(steady_clock::now() + 1h); }},
        {"future::get", [] { with_pending_future([](auto& f) { f.get(); }); }},
        {"future::wait", [] { with_pending_future([](auto& f) { f.wait(); }); }},
        {"future::wait_for", [] { with_pending_future([](auto& f) { static_cast<void>(f.wait_for(1h)); }); }},
        {"future::wait_until",
         [] { with_pending_future([](auto& f) { static_cast<void>(f.wait_until(steady_clock::now() + 1h)); }); }},
        {"event::wait",
         [] {
             event e;
             e.wait();
         }},
        {"event::wait_for",
         [] {
             event e;
             static_cast<void>(e.wait_for(1h));
         }},
        {"select of an event",
         [] {
             event e;
             static_cast<void>(select(ready_case(e), recv_case(chan<int>()), ready_case(e)));
         }},
        {"counting_semaphore::acquire",
         [] {
             counting_semaphore<> s(0);
             s.acquire();
         }},
        {"counting_semaphore::try_acquire_for",
         [] {
             counting_semaphore<> s(0);
             static_cast<void>(s.try_acquire_for(1h));
         }},
        {"weighted_semaphore::acquire",
         [] {
             weighted_semaphore s(3);
             s.acquire(2);
             s.acquire(2);
         }},
        {"weighted_semaphore::try_acquire_for",
         [] {
             weighted_semaphore s(1);
             s.acquire();
             static_cast<void>(s.try_acquire_for(1, 1h));
         }},
        {"rate_limiter::acquire",
         [] {
             rate_limiter daily({.tokens = 1, .per = 24h});
             daily.acquire();
             daily.acquire();
         }},
        {"backoff::wait", [] { backoff({.first = 24h, .longest = 24h}).wait(); }},
        {"merge", [] { static_cast<void>(merge<int>({chan<int>(), chan<int>(1)}).recv()); }},
        {"batch",
         [] {
             const chan<int> c(1);
             c.send(1);
             static_cast<void>(batch(c, 2, 1h).recv());
         }},
        {"condition_variable::wait",
         [] {
             mutex m;
             condition_variable changed;
             std::unique_lock hold(m);
             changed.wait(hold, [] { return false; });
         }},
        {"condition_variable::wait_for",
         [] {
             mutex m;
             condition_variable changed;
             std::unique_lock hold(m);
             changed.wait_for(hold, 1h);
         }},
        {"latch::wait_for",
         [] {
             const latch l(1);
             static_cast<void>(l.wait_for(1h));
         }},
        {"timed_mutex::try_lock_for",
         [] {
             timed_mutex m;
             m.lock();
             struct unlock_at_end {
                 timed_mutex& m;

                 ~unlock_at_end() { m.unlock(); }
             } const at_end{m};
             static_cast<void>(m.try_lock_for(1h));
         }},
    };
    return all;
}

}  // namespace weft::test
