// thread_port_darwin.cc: see thread_port_darwin.h.
#include "os/thread_port_darwin.h"

#include <pthread.h>

#include "base/atomic.h"
#include "os/os.h"

namespace weft::detail::os {

namespace {

// The ports of threads that have asked for their number: number << 32 | port, by the number.
constexpr std::size_t known_max = 4096;
constinit atomic<uint64_t> known[known_max] = {};

atomic<uint64_t>& entry_of(uint64_t number) noexcept { return known[number % known_max]; }

}  // namespace

int current_tid() noexcept {
    uint64_t number = 0;
    pthread_threadid_np(nullptr, &number);
    const uint64_t entry = number << 32 | pthread_mach_thread_np(pthread_self());
    atomic<uint64_t>& there = entry_of(number);
    if (there.load(relaxed) != entry) there.store(entry, relaxed);  // relaxed: readers check it
    return static_cast<int>(number);
}

uint64_t number_of_thread(mach_port_t port) noexcept {
    thread_identifier_info info{};
    mach_msg_type_number_t size = THREAD_IDENTIFIER_INFO_COUNT;
    const kern_return_t result =
        thread_info(port, THREAD_IDENTIFIER_INFO, reinterpret_cast<thread_info_t>(&info), &size);
    return result == KERN_SUCCESS ? info.thread_id : 0;
}

thread_ports::thread_ports() noexcept {
    if (task_threads(mach_task_self(), &ports_, &count_) != KERN_SUCCESS) count_ = 0;
}

thread_ports::~thread_ports() {
    for (const thread_act_t port : *this) mach_port_deallocate(mach_task_self(), port);
    if (ports_ != nullptr)
        vm_deallocate(mach_task_self(), reinterpret_cast<vm_address_t>(ports_), count_ * sizeof(thread_act_t));
}

mach_port_t port_of_thread(int tid) noexcept {
    const auto number = static_cast<uint64_t>(tid);
    const uint64_t entry = entry_of(number).load(relaxed);  // relaxed: it is checked
    const auto port = static_cast<mach_port_t>(entry);
    if (entry >> 32 == number && number_of_thread(port) == number) return port;
    const thread_ports all;
    for (const thread_act_t one : all) {
        // The process itself holds a right to each of its threads, so the name stays valid.
        if (number_of_thread(one) == number) return one;
    }
    return MACH_PORT_NULL;
}

}  // namespace weft::detail::os
