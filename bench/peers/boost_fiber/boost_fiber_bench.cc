// boost_fiber_bench.cc: the suite over Boost.Fiber.
//
// Settings, chosen by measurement. P=1: the default round_robin, with stacks from
// pooled_fixedsize_stack. That pool is not thread-safe. P>1: work_stealing on P threads, with
// stacks from malloc, set to never trim the heap (by default it does after every batch: 15 times
// slower). Stacks are 16 KiB without a guard page; the default is 128 KiB.
//
// Differences from the other peers:
// - A buffered_channel of capacity 128 holds 127 values, and capacities are powers of two.
// - Children in skynet, and forks of fork_join.h, start by launch::dispatch (run at once).
//   Otherwise all 1.1 million fibers would be alive together.
// - Without a semaphore, reader-writer lock, select, or timer with a function, those workloads are
//   left out.
#include <malloc.h>

#include <atomic>
#include <boost/fiber/all.hpp>
#include <boost/fiber/pooled_fixedsize_stack.hpp>
#include <boost/version.hpp>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "workload/suite.h"

namespace {

namespace fibers = boost::fibers;

constexpr size_t stack_size = 16 * 1024;

struct boost_fiber {
    static const char* peer() { return "boost.fiber"; }

    static std::string version() {
        return "Boost " + std::to_string(BOOST_VERSION / 100000) + "." + std::to_string(BOOST_VERSION / 100 % 1000) +
               ", gcc " __VERSION__;
    }

    // The process ends with the body, because shutting down the schedulers never returns.
    template <typename Body>
    static void run(int p, Body body) {
        mallopt(M_TRIM_THRESHOLD, 1 << 30);
        mallopt(M_TOP_PAD, 64 << 20);
        mallopt(M_MMAP_THRESHOLD, 1 << 30);
        schedulers = p;
        if (p > 1) {
            for (int i = 1; i < p; ++i) {
                std::thread([p] {
                    fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(p);
                    fibers::mutex forever;
                    fibers::condition_variable never;
                    std::unique_lock<fibers::mutex> lock(forever);
                    for (;;) never.wait(lock);
                }).detach();
            }
            fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(p);
        }
        // The body runs as a fiber, because a thread's main fiber cannot be stolen.
        fibers::fiber(fibers::launch::post, std::allocator_arg, boost::context::fixedsize_stack(256 * 1024), [&body] {
            body();
            std::fflush(stdout);
            std::_Exit(0);
        }).join();
    }

    template <typename F>
    static void go(F f) {
        start(fibers::launch::post, std::move(f)).detach();
    }

    template <typename F>
    static void go_child(F f) {
        start(fibers::launch::dispatch, std::move(f)).detach();
    }

    template <typename F>
    static void spawn_and_join(F f) {
        start(fibers::launch::post, std::move(f)).join();
    }

    template <typename F, typename G>
    static void fork_two(F f, G g) {
        fibers::fiber child = start(fibers::launch::dispatch, std::move(f));
        g();
        child.join();
    }

    template <typename F>
    static void fork_each(int64_t count, F f) {
        if (count == 0) return;
        std::vector<fibers::fiber> children;
        children.reserve(static_cast<size_t>(count - 1));
        for (int64_t i = 0; i < count - 1; ++i) children.push_back(start(fibers::launch::dispatch, [&f, i] { f(i); }));
        f(count - 1);
        for (fibers::fiber& child : children) child.join();
    }

    static void yield() { boost::this_fiber::yield(); }

    static void sleep_for(int64_t ns) { boost::this_fiber::sleep_for(std::chrono::nanoseconds(ns)); }

    template <typename F>
    static auto blocking(F f) {
        return f();
    }

    static constexpr bool counts_os_wakes = false;

    static int64_t os_wakes() { return 0; }

    // Only the last done takes the lock; the others just count.
    class wait_group {
    public:
        void add(int64_t n) { pending_.fetch_add(n); }

        void done() {
            if (pending_.fetch_sub(1) != 1) return;
            std::lock_guard<fibers::mutex> lock(mutex_);
            finished_ = true;
            condition_.notify_all();
        }

        void wait() {
            std::unique_lock<fibers::mutex> lock(mutex_);
            condition_.wait(lock, [this] { return finished_; });
        }

    private:
        std::atomic<int64_t> pending_{0};
        fibers::mutex mutex_;
        fibers::condition_variable condition_;
        bool finished_ = false;
    };

    using mutex = fibers::mutex;
    using condition_variable = fibers::condition_variable;

    template <typename Channel>
    class handle {
    public:
        using value_type = typename Channel::value_type;

        template <typename... Args>
        explicit handle(std::in_place_t, Args... args) : channel_(std::make_shared<Channel>(args...)) {}

        void send(value_type value) const {
            bench::check(channel_->push(std::move(value)) == fibers::channel_op_status::success, "send");
        }

        bool recv(value_type& value) const { return channel_->pop(value) == fibers::channel_op_status::success; }

        void close() const { channel_->close(); }

    private:
        std::shared_ptr<Channel> channel_;
    };

    template <typename T>
    using unbuffered = handle<fibers::unbuffered_channel<T>>;

    template <typename T>
    static unbuffered<T> make_unbuffered() {
        return unbuffered<T>(std::in_place);
    }

    template <typename T>
    using buffered = handle<fibers::buffered_channel<T>>;

    template <typename T>
    static buffered<T> make_buffered(int64_t capacity) {
        const auto slots = static_cast<std::size_t>(capacity < 2 ? 2 : capacity);  // One stays empty.
        return buffered<T>(std::in_place, slots);
    }

private:
    template <typename F>
    static fibers::fiber start(fibers::launch policy, F f) {
        if (schedulers == 1) {
            static fibers::pooled_fixedsize_stack pool(stack_size);
            return fibers::fiber(policy, std::allocator_arg, pool, std::move(f));
        }
        return fibers::fiber(policy, std::allocator_arg, boost::context::fixedsize_stack(stack_size), std::move(f));
    }

    static inline int schedulers = 1;  // Set once, before any fiber.
};

}  // namespace

int main(int argc, char** argv) {
    using namespace bench;
    return suite_main<boost_fiber>(
        argc, argv,
        {basics<boost_fiber>, waking<boost_fiber>, sleeping<boost_fiber>, conditions<boost_fiber>, forks<boost_fiber>,
         calls<boost_fiber>, hogs<boost_fiber>, crowds<boost_fiber>});
}
