// byte_queue.cc: see weft/detail/byte_queue.h.
#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <weft/detail/byte_queue.h>

#include "base/assert.h"

namespace weft::detail {

void byte_queue::consume(std::size_t n) noexcept {
    WEFT_ASSERT(n <= size());
    first_ += n;
}

net::mutable_buffer byte_queue::make_room(std::size_t total) {
    WEFT_ASSERT(total > size());
    if (empty()) first_ = last_ = 0;
    const bool fits = first_ + total <= capacity_ && (first_ == 0 || capacity_ - last_ >= capacity_ / 4);
    if (!fits && total <= capacity_ - capacity_ / 4) {
        std::memmove(memory_.get(), memory_.get() + first_, size());
        last_ -= first_;
        first_ = 0;
    } else if (!fits) {
        const std::size_t doubled = capacity_ > total / 2 ? 2 * capacity_ : total;
        const std::size_t taken = std::max({doubled, wanted_, std::size_t{1}});
        std::unique_ptr<char[]> larger(new char[taken]);
        if (!empty()) std::memcpy(larger.get(), memory_.get() + first_, size());
        last_ -= first_;
        first_ = 0;
        memory_ = std::move(larger);
        capacity_ = taken;
    }
    return {memory_.get() + last_, capacity_ - last_};
}

void byte_queue::append(std::size_t n) noexcept {
    WEFT_ASSERT(n <= capacity_ - last_);
    last_ += n;
}

}  // namespace weft::detail
