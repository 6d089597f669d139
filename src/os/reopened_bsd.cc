// reopened_bsd.cc: see reopened.h. A pipe cannot be opened again: /dev/fd has the same open file.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "os/file_calls.h"
#include "os/reopened.h"

namespace weft::detail::os {

bool is_main_side(int terminal) noexcept {
    char name[128];
    return ptsname_r(terminal, name, sizeof(name)) == 0;
}

int open_again(int fd, const struct stat& as) noexcept {
    if (!S_ISCHR(as.st_mode)) return -1;
    const int own = open_terminal_again(fd, true);
    return own >= 0 ? own : -1;
}

}  // namespace weft::detail::os
