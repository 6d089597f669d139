// leash.cc: see bystanders.h.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>

#include "bystanders.h"

namespace weft::test {

leash::leash() {
    if (::pipe2(pipe_, O_CLOEXEC) != 0) std::abort();
}

leash::~leash() {
    let_go();
    ::close(pipe_[0]);
    ::close(pipe_[1]);
}

void leash::await() const {
    pollfd until{.fd = pipe_[0], .events = POLLIN, .revents = 0};
    if (::poll(&until, 1, -1) != 1) std::abort();
}

void leash::let_go() {
    gone_ = true;
    if (::write(pipe_[1], "", 1) != 1) std::abort();
}

}  // namespace weft::test
