// nth_call.cc: see nth_call.h.
#include "support/nth_call.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace weft::test {

namespace {

using clock = std::chrono::steady_clock;

constexpr int filter_refused = 77;

// Redirects calls of that kind to the holder of the returned descriptor; -1: refused.
int install_filter(const call_kind& kind) {
    std::vector<sock_filter> program;
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    for (std::size_t i = 0; i < kind.numbers.size(); ++i) {
        const auto to_match =
            static_cast<uint8_t>(kind.numbers.size() - i);  // over the rest, and the statement that allows
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(kind.numbers[i]), to_match, 0));
    }
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    if (kind.argument_1 || kind.other_argument_1) {
        const bool equal = kind.argument_1.has_value();
        program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args) + sizeof(uint64_t)));
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, equal ? *kind.argument_1 : *kind.other_argument_1,
                                   static_cast<uint8_t>(equal), static_cast<uint8_t>(!equal)));
        program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    }
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
    const sock_fprog filter{.len = static_cast<unsigned short>(program.size()), .filter = program.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter));
}

// A control message that passes one descriptor through a socket.
union one_descriptor {
    cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

bool send_descriptor(int socket, int fd) {
    one_descriptor control{};
    char byte = 0;
    iovec one{&byte, 1};
    msghdr message{};
    message.msg_iov = &one;
    message.msg_iovlen = 1;
    message.msg_control = &control;
    message.msg_controllen = sizeof(control);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof(int));
    return ::sendmsg(socket, &message, 0) == 1;
}

int receive_descriptor(int socket) {
    one_descriptor control{};
    char byte = 0;
    iovec one{&byte, 1};
    msghdr message{};
    message.msg_iov = &one;
    message.msg_iovlen = 1;
    message.msg_control = &control;
    message.msg_controllen = sizeof(control);
    if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    int fd = -1;
    if (header != nullptr) std::memcpy(&fd, CMSG_DATA(header), sizeof(int));
    return fd;
}

[[noreturn]] void be_the_child(const call_kind& kind, int socket, int output, int (*body)()) {
    ::dup2(output, STDERR_FILENO);
    const int listener = install_filter(kind);
    if (listener < 0 || !send_descriptor(socket, listener)) std::_Exit(filter_refused);
    ::close(listener);
    ::close(socket);
    std::_Exit(body());
}

// Answers one call. False: its thread is gone.
bool answer(int listener, unsigned n, int error, unsigned& calls) {
    seccomp_notif call;
    std::memset(&call, 0, sizeof(call));
    if (::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) return false;
    ++calls;
    seccomp_notif_resp reply{};
    reply.id = call.id;
    if (calls == n) {
        reply.error = -error;
    } else {
        reply.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    }
    ::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply);  // fails if its thread is gone
    return true;
}

std::string content_of(int fd) {
    std::string text;
    char some[4096];
    ::lseek(fd, 0, SEEK_SET);
    for (ssize_t got = 0; (got = ::read(fd, some, sizeof(some))) > 0;) text.append(some, static_cast<std::size_t>(got));
    return text;
}

}  // namespace

supervised run_with_failing_call(const call_kind& kind, unsigned n, int (*body)(), std::chrono::seconds limit) {
    supervised result;
    int ends[2];
    const int output = ::memfd_create("stderr", MFD_CLOEXEC);
    if (output < 0 || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return result;
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[0]);
        be_the_child(kind, ends[1], output, body);
    }
    ::close(ends[1]);
    const int listener = receive_descriptor(ends[0]);
    ::close(ends[0]);
    const auto deadline = clock::now() + limit;
    result.in_time = true;
    while (listener >= 0) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock::now()).count();
        pollfd one{listener, POLLIN, 0};
        const int ready = ::poll(&one, 1, result.in_time && left > 0 ? static_cast<int>(left) : 1000);
        if ((one.revents & POLLHUP) != 0) break;
        if (ready > 0) {
            answer(listener, n, kind.error, result.calls);
        } else if (clock::now() >= deadline) {
            result.in_time = false;
            ::kill(child, SIGKILL);
        }
    }
    if (listener >= 0) ::close(listener);
    ::waitpid(child, &result.status, 0);
    result.supported = listener >= 0;
    result.said = content_of(output);
    ::close(output);
    return result;
}

}  // namespace weft::test
