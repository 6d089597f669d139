// wire.cc: see wire.h.
#include "tls/wire.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace weft::tls::detail {

const BIO_METHOD* wire::method() {
    // Never freed, because streams with static storage might outlive it.
    static BIO_METHOD* const made = [] {
        BIO_METHOD* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weft");
        if (m == nullptr) throw std::bad_alloc();
        BIO_meth_set_read_ex(m, &wire::read);
        BIO_meth_set_write_ex(m, &wire::write);
        BIO_meth_set_ctrl(m, &wire::control);
        return m;
    }();
    return made;
}

bio_handle wire::open() {
    bio_handle end(BIO_new(method()));
    if (end == nullptr) throw std::bad_alloc();
    BIO_set_data(end.get(), this);
    BIO_set_init(end.get(), 1);
    return end;
}

int wire::read(BIO* end, char* into, std::size_t size, std::size_t* count) noexcept {
    wire& self = of(end);
    BIO_clear_retry_flags(end);
    if (self.input_.empty()) {
        BIO_set_retry_read(end);
        return -1;
    }
    *count = std::min(size, self.input_.size());
    std::memcpy(into, self.input_.data(), *count);
    self.input_ = self.input_.subspan(*count);
    return 1;
}

int wire::write(BIO* end, const char* from, std::size_t size, std::size_t* count) noexcept {
    std::vector<std::byte>& output = of(end).output_;
    BIO_clear_retry_flags(end);
    const auto* bytes = reinterpret_cast<const std::byte*>(from);
    try {
        output.insert(output.end(), bytes, bytes + size);
    } catch (const std::bad_alloc&) {
        return 0;  // not retryable: libssl fails
    }
    *count = size;
    return 1;
}

long wire::control(BIO* /*end*/, int command, long /*number*/, void* /*pointer*/) noexcept {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

}  // namespace weft::tls::detail
