// own_thread.h: a thread of this component, for work that goes on while all processors compute.
//
// Handlers of the program's signals do not run on it. In the child of a fork it does not exist, and
// nothing may wait for it: exists_here().
//
// Threads: that which makes it, or the child of a fork.
#pragma once

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <utility>

#include "base/component_threads.h"
#include "os/os.h"

namespace weft::observe::detail {

class own_thread {
public:
    // name: at most 15 bytes. calls_program: it runs code of the program, which may wake green
    // threads. Throws std::system_error.
    template <typename F>
    own_thread(const char* name, bool calls_program, F run) : process_(::getpid()) {
        sigset_t all;
        sigset_t before;
        sigfillset(&all);
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&all, fault);
        ::pthread_sigmask(SIG_SETMASK, &all, &before);
        try {
            thread_ = std::thread([this, calls_program, run = std::move(run)] {
                const int tid = weft::detail::os::current_tid();
                if (!calls_program) weft::detail::add_component_thread(tid);
                has_begun_.store(true);
                has_begun_.notify_all();
                run();
                if (!calls_program) weft::detail::remove_component_thread(tid);
            });
        } catch (...) {
            ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
            throw;
        }
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        ::pthread_setname_np(thread_.native_handle(), name);
        has_begun_.wait(false);
    }

    own_thread(const own_thread&) = delete;
    own_thread& operator=(const own_thread&) = delete;

    // Not in the child of a fork.
    void join() { thread_.join(); }

    [[nodiscard]] bool exists_here() const noexcept { return ::getpid() == process_; }

    // In the child of a fork, before the object ends.
    void forget() noexcept { thread_.detach(); }

private:
    pid_t process_;
    std::atomic<bool> has_begun_{false};  // it is known as a thread of this component
    std::thread thread_;
};

}  // namespace weft::observe::detail
