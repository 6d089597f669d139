// wire.h: both directions of what is encrypted, as OpenSSL sees them: memory, and never a socket.
//
// libssl reads from what has arrived, and writes to what is to be sent; where nothing has arrived it says so and returns. So nothing
// inside of it ever waits, and a green thread cannot leave its OS thread there: OpenSSL keeps a queue of errors, and more, for each of
// these. What moves the bytes is in connection.h.
//
// Rejected: OpenSSL's own memory BIOs. What is sent has to be copied out of them once more, because they may move it while it is sent;
// and they keep the largest buffer they ever needed.
//
// Who: the holder of the connection's lock.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tls/handle.h"

namespace weft::tls::detail {

class wire {
public:
    wire() = default;
    wire(const wire&) = delete;
    wire& operator=(const wire&) = delete;

    // One end for libssl, which lives no longer than this. Throws std::bad_alloc.
    [[nodiscard]] bio_handle open();

    // bytes have arrived: they stay where they are until consumed() says that they were read.
    void arrived(std::span<const std::byte> bytes) noexcept { input_ = bytes; }

    [[nodiscard]] bool consumed() const noexcept { return input_.empty(); }

    // What is to be sent.
    [[nodiscard]] std::vector<std::byte>& output() noexcept { return output_; }

private:
    static const BIO_METHOD* method();

    static wire& of(BIO* end) noexcept { return *static_cast<wire*>(BIO_get_data(end)); }

    static int read(BIO* end, char* into, std::size_t size, std::size_t* count) noexcept;
    static int write(BIO* end, const char* from, std::size_t size, std::size_t* count) noexcept;
    static long control(BIO* end, int command, long number, void* pointer) noexcept;

    std::span<const std::byte> input_;
    std::vector<std::byte> output_;
};

}  // namespace weft::tls::detail
