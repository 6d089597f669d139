// wire.h: both directions of the encrypted data, as memory for OpenSSL, never a socket.
//
// If nothing has arrived, a read reports that and returns. So libssl never waits, and a green
// thread cannot leave its OS thread inside a call (docs/tls.md). connection.h moves the bytes.
//
// Rejected: OpenSSL's memory BIOs. They copy output once more, and never shrink.
//
// Threads: the holder of the connection's lock.
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

    // libssl's end, which must not outlive this. Throws std::bad_alloc.
    [[nodiscard]] bio_handle open();

    // The bytes must stay in place until consumed() returns true.
    void arrived(std::span<const std::byte> bytes) noexcept { input_ = bytes; }

    [[nodiscard]] bool consumed() const noexcept { return input_.empty(); }

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
