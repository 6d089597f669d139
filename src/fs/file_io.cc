// file_io.cc: see file_io.h.
#include "fs/file_io.h"

#include <cerrno>

#include <weft/blocking.h>

#include "fs/file_ring.h"
#include "os/file_calls.h"

namespace weft::detail {

namespace {

// R2. What is not more than 0 is to be asked in the ordinary way.
ssize_t read_by_ring(int fd, const iovec* into, std::size_t count, int64_t offset) {
    file_ring* ring = file_ring::of_caller();
    if (ring == nullptr) return -EAGAIN;
    const bool at_position = offset == os::own_position;
    const int64_t from = at_position ? os::file_seek(fd, 0, os::seek_from::current) : offset;
    if (from < 0) return -EAGAIN;
    const int got = ring->run({fd, into, static_cast<uint32_t>(count), from, 0});
    return at_position ? os::try_file_read(fd, into, count, offset) : got;
}

}  // namespace

ssize_t read_file_piece(const opened_file& f, const iovec* into, std::size_t count, int64_t offset) {
    if (f.is_stored) {
        ssize_t got = os::try_file_read(f.fd, into, count, offset);  // R1
        if (got == -EAGAIN) got = read_by_ring(f.fd, into, count, offset);
        if (got > 0) return got;
    }
    return blocking([&] { return os::file_read(f.fd, into, count, offset); });  // R3
}

ssize_t write_file_piece(const opened_file& f, const iovec* from, std::size_t count, int64_t offset) {
    return blocking([&] { return os::file_write(f.fd, from, count, offset); });
}

int sync_file(const opened_file& f, bool data_only) {
    return blocking([&] { return os::file_sync(f.fd, data_only); });
}

}  // namespace weft::detail
