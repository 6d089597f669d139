// fd_calls_linux.cc: see fd_calls.h.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include "os/fd_calls.h"
#include "os/never_inlined.h"
#include "os/sigpipe.h"

namespace weft::detail::os {

int tcp_idle_option() noexcept { return TCP_KEEPIDLE; }

int socket_family(int fd, int& family) noexcept { return socket_option_of(fd, SOL_SOCKET, SO_DOMAIN, family); }

bool has_abstract_names() noexcept { return true; }

WEFT_OS_CALL ssize_t send_file(int socket, int file, int64_t& offset, std::size_t count) noexcept {
    const sigpipe_held_back signal;
    off_t at = offset;
    const ssize_t sent = or_errno(::sendfile(socket, file, &at, count));
    // After a partial success, sendfile does not report the step that raises the signal.
    if (sent == -EPIPE || (sent >= 0 && static_cast<std::size_t>(sent) < count)) signal.take();
    offset = at;
    return sent;
}

WEFT_OS_CALL ssize_t socket_receive_dropping_files(int fd,
                                                   const iovec* into,
                                                   std::size_t count,
                                                   bool& stopped) noexcept {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(into);  // only read
    message.msg_iovlen = count;
    const ssize_t moved = or_errno(::recvmsg(fd, &message, 0));
    // Without a control buffer all ancillary data is truncated.
    stopped = (message.msg_flags & MSG_CTRUNC) != 0;
    return moved;
}

WEFT_OS_CALL int socket_peer(int fd, int64_t& pid, uint32_t& uid, uint32_t& gid) noexcept {
    ucred who{};
    socklen_t size = sizeof(who);
    const int result = or_errno(::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size));
    pid = who.pid;
    uid = who.uid;
    gid = who.gid;
    return result;
}

}  // namespace weft::detail::os
