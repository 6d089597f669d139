// evict.cc: see temp_folder.h.
#include <fcntl.h>
#include <unistd.h>

#include "temp_folder.h"

namespace weft::test {

void evict(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    ::fsync(fd);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    ::close(fd);
}

}  // namespace weft::test
