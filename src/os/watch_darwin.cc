// watch_darwin.cc: what other threads of the process are doing: see os.h.
#include <mach/mach.h>

#include "os/os.h"
#include "os/thread_port_darwin.h"

namespace weft::detail::os {

namespace {

bool look_at(int tid, thread_basic_info& info) noexcept {
    mach_msg_type_number_t size = THREAD_BASIC_INFO_COUNT;
    return thread_info(port_of_thread(tid), THREAD_BASIC_INFO, reinterpret_cast<thread_info_t>(&info), &size) ==
           KERN_SUCCESS;
}

int64_t to_ns(const time_value_t& t) noexcept {
    return int64_t{t.seconds} * 1'000'000'000 + int64_t{t.microseconds} * 1000;
}

}  // namespace

int64_t thread_cpu_ns(int tid) noexcept {
    thread_basic_info info{};
    return look_at(tid, info) ? to_ns(info.user_time) + to_ns(info.system_time) : -1;
}

bool thread_wants_cpu(int tid) noexcept {
    thread_basic_info info{};
    return look_at(tid, info) && info.run_state == TH_STATE_RUNNING;
}

bool for_each_thread(bool (*each)(void* closure, int tid) noexcept, void* closure) noexcept {
    const thread_ports all;
    for (const thread_act_t one : all) {
        const uint64_t number = number_of_thread(one);
        if (number != 0 && !each(closure, static_cast<int>(number))) break;
    }
    return all.count() != 0;
}

unsigned thread_count() noexcept { return thread_ports().count(); }

}  // namespace weft::detail::os
