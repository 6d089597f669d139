// allocations.cc: see allocations.h. This file replaces all forms of new and delete, because a
// sanitizer expects matching forms from one source.
#include "fuzz/http/allocations.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> allocated{0};
std::atomic<std::size_t> most_allocated{0};

void* counted(void* p) noexcept {
    if (p == nullptr) return p;
    const std::size_t now = allocated.fetch_add(malloc_usable_size(p)) + malloc_usable_size(p);
    std::size_t most = most_allocated.load();
    while (most < now && !most_allocated.compare_exchange_weak(most, now)) {}
    return p;
}

void* allocate(std::size_t size) noexcept { return counted(std::malloc(size == 0 ? 1 : size)); }

void* allocate(std::size_t size, std::align_val_t align) noexcept {
    const auto a = static_cast<std::size_t>(align);
    return counted(std::aligned_alloc(a, (std::max<std::size_t>(size, 1) + a - 1) / a * a));
}

void* or_throw(void* p) {
    if (p == nullptr) throw std::bad_alloc();
    return p;
}

void release(void* p) noexcept {
    if (p != nullptr) allocated.fetch_sub(malloc_usable_size(p));
    std::free(p);
}

}  // namespace

void* operator new(std::size_t size) { return or_throw(allocate(size)); }

void* operator new[](std::size_t size) { return or_throw(allocate(size)); }

void* operator new(std::size_t size, const std::nothrow_t& /*unused*/) noexcept { return allocate(size); }

void* operator new[](std::size_t size, const std::nothrow_t& /*unused*/) noexcept { return allocate(size); }

void* operator new(std::size_t size, std::align_val_t align) { return or_throw(allocate(size, align)); }

void* operator new[](std::size_t size, std::align_val_t align) { return or_throw(allocate(size, align)); }

void* operator new(std::size_t size, std::align_val_t align, const std::nothrow_t& /*unused*/) noexcept {
    return allocate(size, align);
}

void* operator new[](std::size_t size, std::align_val_t align, const std::nothrow_t& /*unused*/) noexcept {
    return allocate(size, align);
}

void operator delete(void* p) noexcept { release(p); }

void operator delete[](void* p) noexcept { release(p); }

void operator delete(void* p, std::size_t /*size*/) noexcept { release(p); }

void operator delete[](void* p, std::size_t /*size*/) noexcept { release(p); }

void operator delete(void* p, const std::nothrow_t& /*unused*/) noexcept { release(p); }

void operator delete[](void* p, const std::nothrow_t& /*unused*/) noexcept { release(p); }

void operator delete(void* p, std::align_val_t /*align*/) noexcept { release(p); }

void operator delete[](void* p, std::align_val_t /*align*/) noexcept { release(p); }

void operator delete(void* p, std::size_t /*size*/, std::align_val_t /*align*/) noexcept { release(p); }

void operator delete[](void* p, std::size_t /*size*/, std::align_val_t /*align*/) noexcept { release(p); }

void operator delete(void* p, std::align_val_t /*align*/, const std::nothrow_t& /*unused*/) noexcept { release(p); }

void operator delete[](void* p, std::align_val_t /*align*/, const std::nothrow_t& /*unused*/) noexcept { release(p); }

namespace fuzz::http {

watch_on_allocations::watch_on_allocations() noexcept : before_(allocated.load()) { most_allocated.store(before_); }

std::size_t watch_on_allocations::most() const noexcept { return most_allocated.load() - before_; }

}  // namespace fuzz::http
