// io_ring_linux.cc: see io_ring.h.
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "os/io_ring.h"
#include "os/never_inlined.h"
#include "os/os.h"

namespace weft::detail::os {

namespace {

// The same on all processors.
constexpr long call_setup = 425;
constexpr long call_enter = 426;

constexpr uint32_t wanted_features = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP | IORING_FEAT_NATIVE_WORKERS;

void* map_ring(int fd, std::size_t size, uint64_t what) noexcept {
    constexpr int flags = MAP_SHARED | MAP_POPULATE;
    void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, fd, static_cast<off_t>(what));
    return memory == MAP_FAILED ? nullptr : memory;
}

uint32_t load_acquire(const uint32_t* word) noexcept { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

// Only for the writer of the word.
uint32_t load_own(const uint32_t* word) noexcept { return __atomic_load_n(word, __ATOMIC_RELAXED); }

void store_release(uint32_t* word, uint32_t value) noexcept { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

void fill(io_uring_sqe& e, const ring_request& r) noexcept {
    std::memset(&e, 0, sizeof(e));
    e.fd = r.fd;
    e.user_data = r.tag;
    e.off = static_cast<uint64_t>(r.offset);
    if (r.count == 1) {
        e.opcode = IORING_OP_READ;
        e.addr = reinterpret_cast<uint64_t>(r.into->iov_base);
        e.len = static_cast<uint32_t>(std::min<std::size_t>(r.into->iov_len, 0x7fff'0000));
    } else {
        e.opcode = IORING_OP_READV;
        e.addr = reinterpret_cast<uint64_t>(r.into);
        e.len = r.count;
    }
}

}  // namespace

io_ring::~io_ring() {
    if (requests_ != nullptr) unmap_pages(requests_, requests_size_);
    if (rings_ != nullptr) unmap_pages(rings_, rings_size_);
    if (fd_ >= 0) ::close(fd_);
}

int io_ring::open() noexcept {
    io_uring_params how{};
    const long made = ::syscall(call_setup, entries, &how);
    if (made < 0) return errno;
    fd_ = static_cast<int>(made);
    if ((how.features & wanted_features) != wanted_features) return EOPNOTSUPP;
    rings_size_ = std::max<std::size_t>(how.sq_off.array + how.sq_entries * sizeof(uint32_t),
                                        how.cq_off.cqes + how.cq_entries * sizeof(io_uring_cqe));
    requests_size_ = how.sq_entries * sizeof(io_uring_sqe);
    rings_ = static_cast<std::byte*>(map_ring(fd_, rings_size_, IORING_OFF_SQ_RING));
    if (rings_ == nullptr) return ENOMEM;
    requests_ = map_ring(fd_, requests_size_, IORING_OFF_SQES);
    if (requests_ == nullptr) return ENOMEM;
    request_head_ = at<uint32_t>(how.sq_off.head);
    request_tail_ = at<uint32_t>(how.sq_off.tail);
    request_order_ = at<uint32_t>(how.sq_off.array);
    request_mask_ = how.sq_entries - 1;
    completion_head_ = at<uint32_t>(how.cq_off.head);
    completion_tail_ = at<uint32_t>(how.cq_off.tail);
    completions_ = at<io_uring_cqe>(how.cq_off.cqes);
    completion_mask_ = how.cq_entries - 1;
    return 0;
}

bool io_ring::push(const ring_request& r) noexcept {
    const uint32_t tail = load_own(request_tail_);
    if (tail - load_acquire(request_head_) > request_mask_) return false;  // A2
    const uint32_t index = tail & request_mask_;
    fill(static_cast<io_uring_sqe*>(requests_)[index], r);
    request_order_[index] = index;
    store_release(request_tail_, tail + 1);  // R1
    return true;
}

bool io_ring::take_back(uint64_t& tag) noexcept {
    const uint32_t tail = load_own(request_tail_);
    if (tail == load_acquire(request_head_)) return false;  // A2
    tag = static_cast<io_uring_sqe*>(requests_)[(tail - 1) & request_mask_].user_data;
    store_release(request_tail_, tail - 1);  // R1
    return true;
}

WEFT_OS_CALL int io_ring::submit(uint32_t count) noexcept {
    return static_cast<int>(or_errno(::syscall(call_enter, fd_, count, 0, 0, nullptr, 0)));
}

bool io_ring::pop(ring_completion& c) noexcept {
    const uint32_t head = load_own(completion_head_);
    if (head == load_acquire(completion_tail_)) return false;  // A1
    const io_uring_cqe& e = static_cast<const io_uring_cqe*>(completions_)[head & completion_mask_];
    c = {.tag = e.user_data, .result = e.res};
    store_release(completion_head_, head + 1);  // R2
    return true;
}

WEFT_OS_CALL void io_ring::await(uint32_t count) noexcept {
    static_cast<void>(
        ::syscall(call_enter, fd_, 0, count, IORING_ENTER_GETEVENTS, nullptr, 0));  // interrupted: equally good
}

}  // namespace weft::detail::os
