// fd_calls_darwin.cc: see fd_calls.h.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/ucred.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "os/fd_calls.h"
#include "os/never_inlined.h"
#include "os/sigpipe.h"

namespace weft::detail::os {

int tcp_idle_option() noexcept { return TCP_KEEPALIVE; }

WEFT_OS_CALL ssize_t send_file(int socket, int file, int64_t& offset, std::size_t count) noexcept {
    if (count == 0) return 0;  // to the system, that is all of the file
    const sigpipe_held_back signal;
    auto sent = static_cast<off_t>(count);
    const int result = or_errno(::sendfile(file, socket, offset, &sent, nullptr, 0));
    if (result == -EPIPE) signal.take();
    offset += sent;
    return sent > 0 ? static_cast<ssize_t>(sent) : result;
}

WEFT_OS_CALL int socket_peer(int fd, int64_t& pid, uint32_t& uid, uint32_t& gid) noexcept {
    xucred peer{};
    socklen_t size = sizeof(peer);
    const int result = or_errno(::getsockopt(fd, SOL_LOCAL, LOCAL_PEERCRED, &peer, &size));
    if (result < 0) return result;
    pid_t number = 0;
    size = sizeof(number);
    const int second = or_errno(::getsockopt(fd, SOL_LOCAL, LOCAL_PEERPID, &number, &size));
    pid = number;
    uid = peer.cr_uid;
    gid = peer.cr_groups[0];
    return second;
}

}  // namespace weft::detail::os
