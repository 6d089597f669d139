// fd_calls_bsd.cc: see fd_calls.h.
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "os/fd_calls.h"
#include "os/never_inlined.h"

namespace weft::detail::os {

int socket_family(int fd, int& family) noexcept {
    sockaddr_storage own{};
    uint32_t size = sizeof(own);
    const int result = socket_name(fd, false, reinterpret_cast<sockaddr*>(&own), size);
    family = own.ss_family;
    return result;
}

bool has_abstract_names() noexcept { return false; }

// Descriptors without a buffer for them are dropped without a word, so every short read may have
// stopped there.
WEFT_OS_CALL ssize_t socket_receive_dropping_files(int fd,
                                                   const iovec* into,
                                                   std::size_t count,
                                                   bool& stopped) noexcept {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(into);  // only read
    message.msg_iovlen = static_cast<decltype(message.msg_iovlen)>(count);
    stopped = true;
    return or_errno(::recvmsg(fd, &message, 0));
}

}  // namespace weft::detail::os
