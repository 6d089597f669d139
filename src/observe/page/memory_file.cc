// memory_file.cc: see memory_file.h.
#include "observe/page/memory_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace weft::observe::detail {

memory_file::memory_file() : fd_(::memfd_create("weft_page", MFD_CLOEXEC)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "weft: memfd_create failed");
}

memory_file::~memory_file() {
    if (fd_ >= 0) ::close(fd_);
}

std::string memory_file::path() const { return "/proc/self/fd/" + std::to_string(fd_); }

uint64_t memory_file::size() const {
    struct stat found{};
    if (::fstat(fd_, &found) != 0) throw std::system_error(errno, std::generic_category(), "weft: fstat failed");
    return static_cast<uint64_t>(found.st_size);
}

}  // namespace weft::observe::detail
