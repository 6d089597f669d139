// io_ring.cc: where the system has no such queue; other threads read then: see io_ring.h.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wunused-private-field"  // of the class below
#endif

#include "os/io_ring.h"

#include <cerrno>

namespace weft::detail::os {

io_ring::~io_ring() = default;

int io_ring::open() noexcept { return ENOSYS; }

bool io_ring::push(const ring_request& /*r*/) noexcept { return false; }

bool io_ring::take_back(uint64_t& /*tag*/) noexcept { return false; }

int io_ring::submit(uint32_t /*count*/) noexcept { return -ENOSYS; }

bool io_ring::pop(ring_completion& /*c*/) noexcept { return false; }

void io_ring::await(uint32_t /*count*/) noexcept {}

}  // namespace weft::detail::os
