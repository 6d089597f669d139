// unmap_posix.cc: unmaps pages even if the system may refuse.
//
// Unmapping can fail at the limit of mappings (docs/system_calls.md). Then the content is released
// at once (MADV_DONTNEED splits no mapping), and the range is kept on a list. Each later call that
// maps or unmaps pages retries the list, until a range is refused, which is tried last the next
// time. So a call makes at most one failing attempt.
//
// The list is a stack, pushed to by compare-exchange and taken as a whole, without a lock that the
// child of a fork could find locked. Ranges that another thread has taken during a fork stay mapped
// in the child.
//
// Rejected: A record inside the range: the range may be inaccessible.
// Rejected: A fixed table: a program at the limit may end thousands of threads.
// Rejected: Reuse by map_pages: ranges differ in size and kind, and a slab has guards in it.
//
// Ordering: R1 (a range is pushed) pairs with A1 (the list is taken).
#include <sys/mman.h>

#include <cerrno>
#include <new>

#include "base/atomic.h"
#include "os/os.h"

namespace weft::detail::os {

namespace {

struct kept_range {
    void* address;
    std::size_t size;
    kept_range* next;
};

constinit atomic<kept_range*> kept_ranges{nullptr};

bool unmap(void* address, std::size_t size) noexcept {
    if (const int error = injected_failure(failure::unmap); error != 0) {
        errno = error;
        return false;
    }
    return munmap(address, size) == 0;
}

void push(kept_range* first, kept_range* last) noexcept {
    last->next = kept_ranges.load(relaxed_cas);
    // R1; relaxed: retried
    while (!kept_ranges.compare_exchange_weak(last->next, first, release, relaxed)) {}
}

// The first range, which was refused, becomes the last.
void push_rotated(kept_range* refused) noexcept {
    kept_range* first = refused->next;
    if (first == nullptr) {
        push(refused, refused);
        return;
    }
    kept_range* last = first;
    while (last->next != nullptr) last = last->next;
    last->next = refused;
    push(first, refused);
}

void keep_for_later(void* address, std::size_t size) noexcept {
    discard_pages(address, size);
    auto* range = new (std::nothrow) kept_range{address, size, nullptr};
    if (range != nullptr) push(range, range);  // else only address space is lost
}

}  // namespace

void unmap_kept_pages() noexcept {
    if (kept_ranges.load(relaxed) == nullptr) return;  // relaxed: a missed range is tried in the next call
    const int before = errno;
    kept_range* range = kept_ranges.exchange(nullptr, acquire);  // A1
    while (range != nullptr && unmap(range->address, range->size)) {
        kept_range* next = range->next;
        delete range;
        range = next;
    }
    if (range != nullptr) push_rotated(range);
    errno = before;
}

void unmap_pages(void* address, std::size_t size) noexcept {
    const bool done = unmap(address, size);
    if (!done) keep_for_later(address, size);
    if (done) unmap_kept_pages();
}

std::size_t kept_pages_for_test() noexcept {
    std::size_t bytes = 0;
    // acquire: A1
    for (const kept_range* r = kept_ranges.load(acquire); r != nullptr; r = r->next) bytes += r->size;
    return bytes;
}

}  // namespace weft::detail::os
