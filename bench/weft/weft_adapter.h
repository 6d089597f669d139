// weft_adapter.h: what workload/suite.h needs of a runtime, implemented with weft.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <weft/blocking.h>
#include <weft/condition_variable.h>
#include <weft/parallel.h>
#include <weft/semaphore.h>
#include <weft/shared_mutex.h>
#include <weft/timer.h>
#include <weft/weft.h>

#include "observe/observer.h"

namespace bench {

struct weft_adapter {
    static const char* peer() { return "weft"; }

    static std::string version() { return "gcc " __VERSION__; }

    template <typename Body>
    static void run(int p, Body body) {
        weft::main(weft::runtime_options{.procs = static_cast<unsigned>(p)}, [&body] {
            const auto observer = observer_from_environment();
            body();
        });
    }

    template <typename F>
    static void go(F f) {
        weft::go(std::move(f));
    }

    template <typename F>
    static void go_child(F f) {
        weft::go(std::move(f));
    }

    template <typename F>
    static void spawn_and_join(F f) {
        weft::wait_group done;
        done.add(1);
        weft::go([&] {
            f();
            done.done();
        });
        done.wait();
    }

    // A fork is a green thread with a wait group, as in Go. weft::scope, which adds exceptions and
    // cancellation, is measured separately (scoped).
    template <typename F, typename G>
    static void fork_two(F f, G g) {
        weft::wait_group done;
        done.add(1);
        weft::go([&f, &done] {
            f();
            done.done();
        });
        g();
        done.wait();
    }

    template <typename F>
    static void fork_each(int64_t count, F f) {
        if (count == 0) return;
        weft::wait_group done;
        done.add(static_cast<int>(count - 1));
        for (int64_t i = 0; i < count - 1; ++i) {
            weft::go([&f, &done, i] {
                f(i);
                done.done();
            });
        }
        f(count - 1);
        done.wait();
    }

    static void yield() { weft::yield(); }

    static void sleep_for(int64_t ns) { weft::sleep_for(std::chrono::nanoseconds(ns)); }

    template <typename F>
    static auto blocking(F f) {
        return weft::blocking(std::move(f));
    }

    static constexpr bool counts_os_wakes = true;

    static int64_t os_wakes() { return static_cast<int64_t>(weft::stats().wakes); }

    class wait_group {
    public:
        void add(int64_t n) { group_.add(static_cast<int>(n)); }

        void done() { group_.done(); }

        void wait() { group_.wait(); }

    private:
        weft::wait_group group_;
    };

    using mutex = weft::mutex;
    using shared_mutex = weft::shared_mutex;
    using condition_variable = weft::condition_variable;
    using semaphore = weft::counting_semaphore<>;

    template <typename T>
    class channel {
    public:
        explicit channel(std::size_t capacity) : channel_(capacity) {}

        void send(T value) const { channel_.send(std::move(value)); }

        void close() const { channel_.close(); }

        bool recv(T& value) const {
            std::optional<T> received = channel_.recv();
            if (!received) return false;
            value = std::move(*received);
            return true;
        }

        const weft::chan<T>& inner() const { return channel_; }

    private:
        weft::chan<T> channel_;
    };

    template <typename T>
    using unbuffered = channel<T>;

    template <typename T>
    using buffered = channel<T>;

    template <typename T>
    static channel<T> make_unbuffered() {
        return channel<T>(0);
    }

    template <typename T>
    static channel<T> make_buffered(int64_t capacity) {
        return channel<T>(static_cast<std::size_t>(capacity));
    }

    template <typename... Cases>
    static void select(Cases&&... cases) {
        weft::select(std::forward<Cases>(cases)...);
    }

    template <typename T, typename F>
    static auto on_recv(const channel<T>& from, F f) {
        return weft::on_recv(from.inner(), std::move(f));
    }

    template <typename T, typename F>
    static auto on_send(const channel<T>& to, const T& value, F f) {
        return weft::on_send(to.inner(), value, std::move(f));
    }

    template <typename F>
    static auto otherwise(F f) {
        return weft::otherwise(std::move(f));
    }

    // Calls a function on its own green thread.
    class timer {
    public:
        explicit timer(weft::timer inner) : inner_(std::move(inner)) {}

        bool stop() { return inner_.stop(); }

        bool reset(int64_t ns) { return inner_.reset(std::chrono::nanoseconds(ns)); }

    private:
        weft::timer inner_;
    };

    template <typename F>
    static timer after(int64_t ns, F f) {
        return timer(weft::after_func(std::chrono::nanoseconds(ns), std::move(f)));
    }

    class select_set {
    public:
        template <typename T, typename F>
        void add_recv(const channel<T>& from, F f) {
            set_.add_recv(from.inner(), std::move(f));
        }

        void wait() { set_.wait(); }

    private:
        weft::select_set set_;
    };
};

// The same, with forks by weft::scope.
struct weft_scoped : weft_adapter {
    template <typename F, typename G>
    static void fork_two(F f, G g) {
        weft::scope([&](weft::task_scope& scope) {
            scope.go([&f] { f(); });
            g();
        });
    }

    template <typename F>
    static void fork_each(int64_t count, F f) {
        if (count == 0) return;
        weft::scope([&](weft::task_scope& scope) {
            for (int64_t i = 0; i < count - 1; ++i) scope.go([&f, i] { f(i); });
            f(count - 1);
        });
    }
};

// The same, with forks that another P takes only if it has no work.
struct weft_forked : weft_adapter {
    template <typename F, typename G>
    static void fork_two(F f, G g) {
        weft::forked other(std::move(f));
        g();
        other.join();
    }

    template <typename F>
    static void fork_each(int64_t count, F f) {
        weft::parallel_for(0, count, f);
    }
};

}  // namespace bench
