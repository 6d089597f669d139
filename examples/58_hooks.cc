// 58_hooks.cc: old code with blocking calls of the C library, on a thousand green threads.
// See: docs/hooks.md
// needs: weft::hooks
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include <weft/weft.h>

// What a library may contain that was written without weft.
namespace old {

// Waits for a line from a peer, and sends it back.
bool answer(int fd) {
    std::array<char, 64> line{};
    const ssize_t size = recv(fd, line.data(), line.size(), 0);
    return size > 0 && send(fd, line.data(), static_cast<std::size_t>(size), 0) == size;
}

// Waits until another process, or another green thread, asks the one behind fd.
bool ask(int fd) {
    std::array<char, 64> reply{};
    usleep(10'000);
    return write(fd, "hello", 5) == 5 && read(fd, reply.data(), reply.size()) == 5;
}

}  // namespace old

int main() {
    constexpr int pairs = 500;
    std::array<int, 2> ends[pairs];
    for (auto& pair : ends) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()) != 0) return 1;
    }
    std::atomic<int> answered{0};
    std::atomic<int> asked{0};
    weft::runtime two_processors({.procs = 2});
    two_processors.run([&] {
        weft::scope([&](weft::task_scope& s) {
            for (const auto& pair : ends) {
                s.go([&] { answered += old::answer(pair[0]) ? 1 : 0; });
                s.go([&] { asked += old::ask(pair[1]) ? 1 : 0; });
            }
        });
    });
    std::printf("%d answered, %d asked\n", answered.load(), asked.load());

    // A green thread that is cancelled gets an error from the call in which it waits.
    two_processors.run([&] {
        weft::scope([&](weft::task_scope& s) {
            s.go([&] {
                if (!old::answer(ends[0][0])) std::printf("cancelled: %s\n", std::strerror(errno));
            });
            weft::yield();
            s.cancel();
        });
    });
    for (const auto& pair : ends) {
        close(pair[0]);
        close(pair[1]);
    }
}
