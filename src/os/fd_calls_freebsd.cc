// fd_calls_freebsd.cc: see fd_calls.h.
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

int tcp_idle_option() noexcept { return TCP_KEEPIDLE; }

WEFT_OS_CALL ssize_t send_file(int socket, int file, int64_t& offset, std::size_t count) noexcept {
    if (count == 0) return 0;  // to the system, that is all of the file
    const sigpipe_held_back signal;
    off_t sent = 0;
    const int result = or_errno(::sendfile(file, socket, offset, count, nullptr, &sent, 0));
    if (result == -EPIPE) signal.take();
    offset += sent;
    return sent > 0 ? sent : result;
}

WEFT_OS_CALL int socket_peer(int fd, int64_t& pid, uint32_t& uid, uint32_t& gid) noexcept {
    xucred peer{};
    socklen_t size = sizeof(peer);
    const int result = or_errno(::getsockopt(fd, SOL_LOCAL, LOCAL_PEERCRED, &peer, &size));
    pid = peer.cr_pid;
    uid = peer.cr_uid;
    gid = peer.cr_groups[0];
    return result;
}

}  // namespace weft::detail::os
