// thread_port_darwin.h: threads of this process by the names that Mach has for them. Only on macOS.
//
// A thread's number (pthread_threadid_np) is what debuggers show, and is never used again. Mach's
// calls take a port, whose name another thread may get later. So a found port is asked for its
// number.
//
// Threads: any thread.
#pragma once

#include <mach/mach.h>

#include <cstdint>

namespace weft::detail::os {

// Returns MACH_PORT_NULL if the thread has ended.
[[nodiscard]] mach_port_t port_of_thread(int tid) noexcept;

// All threads of the process. Their ports are valid while this object lives.
class thread_ports {
public:
    thread_ports() noexcept;
    ~thread_ports();
    thread_ports(const thread_ports&) = delete;
    thread_ports& operator=(const thread_ports&) = delete;

    [[nodiscard]] const thread_act_t* begin() const noexcept { return ports_; }

    [[nodiscard]] const thread_act_t* end() const noexcept { return ports_ + count_; }

    [[nodiscard]] unsigned count() const noexcept { return count_; }

private:
    thread_act_array_t ports_ = nullptr;
    mach_msg_type_number_t count_ = 0;
};

// 0: the thread has ended.
[[nodiscard]] uint64_t number_of_thread(mach_port_t port) noexcept;

}  // namespace weft::detail::os
