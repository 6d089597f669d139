// std_thread_bench.cc: the suite over one OS thread per task.
//
// The affinity mask limits the process to P CPUs. Channels and the wait group are a mutex with
// condition variables, as written by hand; an unbuffered send returns once a receiver has taken the
// value. The driver uses fewer operations and tasks. Timers, select and millions of forks are left
// out.
#include <gnu/libc-version.h>
#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <thread>
#include <utility>

#include "workload/suite.h"

namespace {

struct std_thread {
    static const char* peer() { return "std.thread"; }

    static std::string version() { return std::string("glibc ") + gnu_get_libc_version() + ", gcc " __VERSION__; }

    template <typename Body>
    static void run(int p, Body body) {
        cpu_set_t allowed;
        bench::check(sched_getaffinity(0, sizeof allowed, &allowed) == 0, "sched_getaffinity");
        int kept = 0;
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (!CPU_ISSET(cpu, &allowed)) continue;
            if (++kept > p) CPU_CLR(cpu, &allowed);
        }
        bench::check(sched_setaffinity(0, sizeof allowed, &allowed) == 0, "sched_setaffinity");
        body();
    }

    template <typename F>
    static void go(F f) {
        std::thread(std::move(f)).detach();
    }

    template <typename F>
    static void go_child(F f) {
        go(std::move(f));
    }

    template <typename F>
    static void spawn_and_join(F f) {
        std::thread(std::move(f)).join();
    }

    static void yield() { std::this_thread::yield(); }

    static void sleep_for(int64_t ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); }

    template <typename F>
    static auto blocking(F f) {
        return f();
    }

    static constexpr bool counts_os_wakes = false;

    static int64_t os_wakes() { return 0; }

    class wait_group {
    public:
        void add(int64_t n) {
            std::lock_guard<std::mutex> lock(mutex_);
            pending_ += n;
        }

        void done() {
            std::lock_guard<std::mutex> lock(mutex_);
            if (--pending_ == 0) condition_.notify_all();
        }

        void wait() {
            std::unique_lock<std::mutex> lock(mutex_);
            condition_.wait(lock, [this] { return pending_ == 0; });
        }

    private:
        std::mutex mutex_;
        std::condition_variable condition_;
        int64_t pending_ = 0;
    };

    using mutex = std::mutex;
    using shared_mutex = std::shared_mutex;
    using condition_variable = std::condition_variable;
    using semaphore = std::counting_semaphore<>;

    // A queue of at most `capacity` values. With capacity 0 it is a queue of one, and the sender
    // waits until its value is taken.
    template <typename T>
    class handle {
    public:
        explicit handle(int64_t capacity) : state_(std::make_shared<state>()) {
            state_->rendezvous = capacity == 0;
            state_->capacity = static_cast<size_t>(capacity == 0 ? 1 : capacity);
        }

        void send(T value) const {
            state& s = *state_;
            std::unique_lock<std::mutex> lock(s.mutex);
            s.not_full.wait(lock, [&] { return s.queue.size() < s.capacity; });
            s.queue.push_back(std::move(value));
            const int64_t mine = ++s.sent;
            s.not_empty.notify_one();
            if (s.rendezvous) s.taken.wait(lock, [&] { return s.received >= mine; });
        }

        bool recv(T& value) const {
            state& s = *state_;
            std::unique_lock<std::mutex> lock(s.mutex);
            s.not_empty.wait(lock, [&] { return !s.queue.empty() || s.closed; });
            if (s.queue.empty()) return false;
            value = std::move(s.queue.front());
            s.queue.pop_front();
            ++s.received;
            s.not_full.notify_one();
            if (s.rendezvous) s.taken.notify_all();
            return true;
        }

        void close() const {
            std::lock_guard<std::mutex> lock(state_->mutex);
            state_->closed = true;
            state_->not_empty.notify_all();
        }

    private:
        struct state {
            std::mutex mutex;
            std::condition_variable not_empty;
            std::condition_variable not_full;
            std::condition_variable taken;
            std::deque<T> queue;
            size_t capacity = 1;
            bool rendezvous = false;
            bool closed = false;
            int64_t sent = 0;
            int64_t received = 0;
        };

        std::shared_ptr<state> state_;
    };

    template <typename T>
    using unbuffered = handle<T>;

    template <typename T>
    using buffered = handle<T>;

    template <typename T>
    static handle<T> make_unbuffered() {
        return handle<T>(0);
    }

    template <typename T>
    static handle<T> make_buffered(int64_t capacity) {
        return handle<T>(capacity);
    }
};

}  // namespace

int main(int argc, char** argv) {
    using namespace bench;
    return suite_main<std_thread>(
        argc, argv,
        {basics<std_thread>, waking<std_thread>, sleeping<std_thread>, conditions<std_thread>, shared_locks<std_thread>,
         semaphores<std_thread>, calls<std_thread>, hogs<std_thread>, crowds<std_thread>});
}
