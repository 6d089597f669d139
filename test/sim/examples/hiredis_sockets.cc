// hiredis_sockets.cc: lets hiredis use the sockets of a simulation.
//
// hiredis calls read, write and close of the system. The linker sends the calls of three of its
// functions here (--wrap in test/CMakeLists.txt). They do the same for simulated descriptors.
extern "C" {
#include <hiredis/sds.h>  // before hiredis.h, which includes it as C++
}

#include <hiredis/hiredis.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "netpoll/fd_calls.h"

namespace {

namespace fds = weft::detail::fds;

int fail(redisContext* c, int kind, const char* why) {
    c->err = kind;
    std::snprintf(c->errstr, sizeof(c->errstr), "%s", why);
    return REDIS_ERR;
}

}  // namespace

extern "C" {

int __real_redisBufferRead(redisContext* c);
int __real_redisBufferWrite(redisContext* c, int* done);
void __real_redisFree(redisContext* c);

int __wrap_redisBufferRead(redisContext* c) {
    if (!weft::detail::is_simulated_fd(c->fd)) return __real_redisBufferRead(c);
    if (c->err != 0) return REDIS_ERR;
    char bytes[1024];
    const int64_t n = fds::socket_receive(c->fd, bytes, sizeof(bytes));
    if (n == -EAGAIN) return REDIS_OK;
    if (n < 0) return fail(c, REDIS_ERR_IO, std::strerror(static_cast<int>(-n)));
    if (n == 0) return fail(c, REDIS_ERR_EOF, "Server closed the connection");
    if (redisReaderFeed(c->reader, bytes, static_cast<std::size_t>(n)) == REDIS_OK) return REDIS_OK;
    return fail(c, c->reader->err, c->reader->errstr);
}

int __wrap_redisBufferWrite(redisContext* c, int* done) {
    if (!weft::detail::is_simulated_fd(c->fd)) return __real_redisBufferWrite(c, done);
    if (c->err != 0) return REDIS_ERR;
    if (const std::size_t size = sdslen(c->obuf); size != 0) {
        const int64_t n = fds::socket_send(c->fd, c->obuf, size);
        if (n < 0 && n != -EAGAIN) return fail(c, REDIS_ERR_IO, std::strerror(static_cast<int>(-n)));
        if (n > 0) sdsrange(c->obuf, static_cast<int>(n), -1);
    }
    if (done != nullptr) *done = sdslen(c->obuf) == 0 ? 1 : 0;
    return REDIS_OK;
}

void __wrap_redisFree(redisContext* c) {
    if (c != nullptr && weft::detail::is_simulated_fd(c->fd)) {
        fds::fd_close(c->fd);
        c->fd = -1;
    }
    __real_redisFree(c);
}

}  // extern "C"
