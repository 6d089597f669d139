// random_numbers.cc: see random_numbers.h.
#include "sim/random_numbers.h"

#include <sys/random.h>
#if __has_include(<sys/syscall.h>)
#include <sys/syscall.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>

#include "sim/controlled_run.h"
#include "sim/original.h"

namespace weft::sim {

namespace {

constexpr std::size_t getentropy_most = 256;  // by POSIX

ssize_t real_bytes(void* to, std::size_t size, [[maybe_unused]] unsigned flags) noexcept {
#if defined(SYS_getrandom)
    return ::syscall(SYS_getrandom, to, size, flags);
#else
    static auto* const next = original<int(void*, std::size_t)>("getentropy");
    const std::size_t part = std::min(size, getentropy_most);
    if (next != nullptr && next(to, part) == 0) return static_cast<ssize_t>(part);
    errno = ENOSYS;
    return -1;
#endif
}

// size > 256 may be interrupted by a signal.
void fill_really(void* to, std::size_t size) noexcept {
    auto* at = static_cast<unsigned char*>(to);
    while (size != 0) {
        const ssize_t got = real_bytes(at, size, 0);
        if (got < 0 && errno != EINTR) std::abort();
        if (got <= 0) continue;
        at += got;
        size -= static_cast<std::size_t>(got);
    }
}

void fill(controlled_run& run, void* to, std::size_t size) noexcept {
    auto* at = static_cast<unsigned char*>(to);
    while (size != 0) {
        const uint64_t number = run.random_number();
        const std::size_t part = std::min(size, sizeof(number));
        std::memcpy(at, &number, part);
        at += part;
        size -= part;
    }
}

void fill_any(void* to, std::size_t size) noexcept {
    if (controlled_run* run = controlled_run::of_caller()) {
        fill(*run, to, size);
    } else {
        fill_really(to, size);
    }
}

uint32_t any_word() noexcept {
    uint32_t word = 0;
    fill_any(&word, sizeof(word));
    return word;
}

// As rand() and random() return them.
long positive(controlled_run& run) noexcept { return static_cast<long>(run.random_number() >> 33); }

}  // namespace

void use_random_numbers() noexcept {}

}  // namespace weft::sim

// As the C library declares them.
#if defined(__GLIBC__)
#define WEFT_AS_DECLARED noexcept
#else
#define WEFT_AS_DECLARED
#endif

extern "C" {

int rand() WEFT_AS_DECLARED {
    if (auto* run = weft::sim::controlled_run::of_caller()) return static_cast<int>(weft::sim::positive(*run));
    static auto* const next = weft::sim::original<int()>("rand");
    return next != nullptr ? next() : static_cast<int>(weft::sim::any_word() >> 1);
}

void srand(unsigned seed) WEFT_AS_DECLARED {
    if (auto* run = weft::sim::controlled_run::of_caller()) return run->seed_random_numbers(seed);
    static auto* const next = weft::sim::original<void(unsigned)>("srand");
    if (next != nullptr) next(seed);
}

long random() WEFT_AS_DECLARED {
    if (auto* run = weft::sim::controlled_run::of_caller()) return weft::sim::positive(*run);
    static auto* const next = weft::sim::original<long()>("random");
    return next != nullptr ? next() : static_cast<long>(weft::sim::any_word() >> 1);
}

void srandom(unsigned seed) WEFT_AS_DECLARED {
    if (auto* run = weft::sim::controlled_run::of_caller()) return run->seed_random_numbers(seed);
    static auto* const next = weft::sim::original<void(unsigned)>("srandom");
    if (next != nullptr) next(seed);
}

ssize_t getrandom(void* to, std::size_t size, unsigned flags) {
    auto* run = weft::sim::controlled_run::of_caller();
    if (run == nullptr) return weft::sim::real_bytes(to, size, flags);
    weft::sim::fill(*run, to, size);
    return static_cast<ssize_t>(size);
}

int getentropy(void* to, std::size_t size) {
    if (size > weft::sim::getentropy_most) {
        errno = EIO;
        return -1;
    }
    weft::sim::fill_any(to, size);
    return 0;
}

uint32_t arc4random() WEFT_AS_DECLARED { return weft::sim::any_word(); }

void arc4random_buf(void* to, std::size_t size) WEFT_AS_DECLARED { weft::sim::fill_any(to, size); }

// Without bias: numbers above the last multiple of bound are drawn again.
uint32_t arc4random_uniform(uint32_t bound) WEFT_AS_DECLARED {
    if (bound < 2) return 0;
    const uint32_t rest = -bound % bound;  // 2^32 % bound
    uint32_t word = 0;
    do {
        word = weft::sim::any_word();
    } while (word < rest);
    return word % bound;
}
}

#if defined(__GLIBCXX__)
// NOLINTNEXTLINE(cert-dcl58-cpp): in its place
[[gnu::weak]] std::random_device::result_type std::random_device::_M_getval() {
    if (weft::sim::controlled_run::of_caller() != nullptr) return weft::sim::any_word();
    using function = result_type(random_device*);
    static auto* const of_library = weft::sim::original<function>("_ZNSt13random_device9_M_getvalEv");
    return of_library != nullptr ? of_library(this) : weft::sim::any_word();
}
#elif defined(_LIBCPP_VERSION)
// NOLINTNEXTLINE(cert-dcl58-cpp): in its place
[[gnu::weak]] std::random_device::result_type std::random_device::operator()() {
    if (weft::sim::controlled_run::of_caller() != nullptr) return weft::sim::any_word();
    using function = result_type(random_device*);
    static auto* const of_library = weft::sim::original<function>("_ZNSt3__113random_deviceclEv");
    return of_library != nullptr ? of_library(this) : weft::sim::any_word();
}
#endif
