// output.cc: see output.h.
#include "observe/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace weft::observe::detail {

output::output(const std::string& path, mode how) : path_(path) {
    constexpr int readable_by_owner = 0600;  // names and messages may be confidential
    if (path == "-") {
        fd_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
        if (fd_ < 0) fail("write", errno);
        return;
    }
    const int flags = how == mode::create ? O_EXCL | O_NOFOLLOW : O_TRUNC;
    fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, readable_by_owner);
    if (fd_ < 0) fail("open", errno);
    struct stat found{};
    const bool is_file = ::fstat(fd_, &found) == 0 && S_ISREG(found.st_mode);
    if (is_file) static_cast<void>(::fchmod(fd_, readable_by_owner));  // one that existed before
}

output::~output() {
    if (fd_ >= 0) ::close(fd_);
}

void output::append(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail("write", errno);
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

void output::close() {
    if (::close(std::exchange(fd_, -1)) != 0) fail("close", errno);
}

void output::fail(const char* what, int error) const {
    throw std::system_error(error, std::generic_category(),
                            std::string("weft: cannot ") + what + " the recording " + path_);
}

}  // namespace weft::observe::detail
