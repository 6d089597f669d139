// unmap_linux.cc: unmaps pages even if the system may refuse.
//
// Problem. The kernel merges an anonymous mapping with its neighbours. Unmapping it later splits
// the merged mapping, which fails with ENOMEM if the process has vm.max_map_count mappings by then.
// That is a state of the program, often temporary, and no reason to end it.
//
// So the content is released at once (MADV_DONTNEED splits nothing), and the range goes on a list.
// Each later call that maps or unmaps pages retries the ranges of the list, until one is refused.
// The refused one is tried last the next time. So each range gets its turn, and a call makes at
// most one failing attempt.
//
// The list is a stack: pushed to by compare-exchange, and taken as a whole. So it has no lock that
// the child of a fork could find locked. A range that another thread had taken at the moment of a
// fork stays mapped in the child.
//
// Rejected: A record inside the range, which needs no memory. The range may be inaccessible.
// Rejected: A fixed table. A program at the limit may end thousands of threads.
// Rejected: Reuse by map_pages. Ranges differ in size and kind, and a slab has guards in it.
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
    if (injected_failure(failure::unmap)) {
        errno = ENOMEM;
        return false;
    }
    return munmap(address, size) == 0;
}

// Pushes the chain from first to last.
void push(kept_range* first, kept_range* last) noexcept {
    last->next = kept_ranges.load(relaxed);  // relaxed: the exchange decides
    // R1; relaxed: retried
    while (!kept_ranges.compare_exchange_weak(last->next, first, release, relaxed)) {}
}

// Pushes a chain whose first range was refused; that one becomes the last.
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
    if (range != nullptr) push(range, range);  // otherwise only address space is lost
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
