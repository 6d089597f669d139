// fd_handle.cc: see weft/detail/fd_handle.h.
#include <new>

#include <weft/detail/fd_handle.h>

#include "base/assert.h"
#include "netpoll/fd_calls.h"
#include "netpoll/poll_desc.h"

namespace weft::detail {

fd_handle::fd_handle(int fd) : desc_(poll_desc::of(fd)), fd_(fd) {
    if (desc_ == nullptr) {
        fds::fd_close(fd);
        throw std::bad_alloc();
    }
    generation_ = desc_->open();
}

void fd_handle::take(fd_handle& other) noexcept {
    desc_ = other.desc_;
    generation_ = other.generation_;
    fd_ = other.fd_;
    read_deadline_.store(other.read_deadline_.load(relaxed_alone), relaxed_alone);
    write_deadline_.store(other.write_deadline_.load(relaxed_alone), relaxed_alone);
    other.desc_ = nullptr;
    other.fd_ = -1;
}

void fd_handle::close() noexcept {
    if (desc_ != nullptr) desc_->close(generation_);
}

bool fd_handle::is_open() const noexcept { return desc_ != nullptr && desc_->is_open(generation_); }

int fd_handle::detach() {
    if (!is_open()) return -1;
    const int fd = desc_->detach(generation_);
    if (fd < 0) fatal("a socket was released while another thread used it; let its calls return first");
    desc_ = nullptr;
    fd_ = -1;
    return fd;
}

void fd_handle::set_read_deadline(int64_t deadline_ns) noexcept {
    read_deadline_.store(deadline_ns, relaxed);  // relaxed: the edge publishes it
    if (desc_ != nullptr) desc_->look_again(desc_->in, generation_);
}

void fd_handle::set_write_deadline(int64_t deadline_ns) noexcept {
    write_deadline_.store(deadline_ns, relaxed);  // relaxed: as above
    if (desc_ != nullptr) desc_->look_again(desc_->out, generation_);
}

}  // namespace weft::detail
