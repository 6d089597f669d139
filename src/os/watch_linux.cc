// watch_linux.cc: what other threads of the process are doing, and their kernel time slices.
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "os/os.h"
#include "os/thread_cpu_clock_linux.h"

namespace weft::detail::os {

namespace {

constexpr uint64_t short_slice_ns = 100'000;

// The kernel's layout; missing in some libc headers.
struct scheduling_attributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns;
    uint64_t deadline_ns;
    uint64_t period_ns;
};

// The kernel's layout.
struct directory_entry {
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[1];
};

bool read_about_thread(int tid, const char* file, char (&text)[128]) noexcept {
    char path[64];
    std::snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, file);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const ssize_t size = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[size < 0 ? 0 : size] = '\0';
    return size > 0;
}

}  // namespace

int64_t thread_cpu_ns(int tid) noexcept {
    timespec used{};
    if (clock_gettime(thread_cpu_clock(tid), &used) != 0) return -1;
    return int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

bool thread_wants_cpu(int tid) noexcept {
    char text[128];
    if (!read_about_thread(tid, "stat", text)) return false;
    // "tid (name) S …"; the name may contain anything but is short.
    const char* name_end = std::strrchr(text, ')');
    return name_end != nullptr && name_end[1] == ' ' && name_end[2] == 'R';
}

int64_t thread_waited_ns(int tid) noexcept {
    char text[128];
    if (!read_about_thread(tid, "schedstat", text)) return 0;
    // "run waited slices", in nanoseconds.
    const char* waited = std::strchr(text, ' ');
    return waited == nullptr ? 0 : std::strtoll(waited, nullptr, 10);
}

bool for_each_thread(bool (*each)(void* closure, int tid) noexcept, void* closure) noexcept {
    const int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return false;
    alignas(directory_entry) char entries[2048];
    bool more = true;
    long size = 0;
    while (more && (size = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
        for (long at = 0; more && at < size;) {
            const auto* entry = reinterpret_cast<const directory_entry*>(entries + at);
            at += entry->size;
            const int tid = std::atoi(entry->name);  // NOLINT: 0 for "." and ".."
            if (tid != 0) more = each(closure, tid);
        }
    }
    close(fd);
    return size >= 0;
}

void want_short_slices(int tid, bool wanted) noexcept {
    scheduling_attributes attributes{};
    attributes.size = sizeof(attributes);
    // Keeps the policy and niceness.
    if (syscall(SYS_sched_getattr, tid, &attributes, sizeof(attributes), 0) != 0) return;
    if (attributes.policy != SCHED_OTHER && attributes.policy != SCHED_BATCH) return;
    attributes.runtime_ns = wanted ? short_slice_ns : 0;
    syscall(SYS_sched_setattr, tid, &attributes, 0);
}

bool wants_short_slices(int tid) noexcept {
    scheduling_attributes attributes{};
    attributes.size = sizeof(attributes);
    return syscall(SYS_sched_getattr, tid, &attributes, sizeof(attributes), 0) == 0 &&
           attributes.runtime_ns == short_slice_ns;
}

}  // namespace weft::detail::os
