// wire.h: both directions of the encrypted data, as memory for OpenSSL, never a socket.
//
// libssl reads received data and writes data to send. If nothing has arrived, it reports that and
// returns. So libssl never waits, and a green thread cannot leave its OS thread inside a call:
// OpenSSL keeps a queue of errors, and more, per OS thread. connection.h moves the bytes.
//
// Rejected: OpenSSL's own memory BIOs. Data to send would be copied once more, because they may
//           move it during the send; and they keep the largest buffer they ever needed.
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

    // One end for libssl, which must not outlive this. Throws std::bad_alloc.
    [[nodiscard]] bio_handle open();

    // New input. The bytes must stay in place until consumed() returns true.
    void arrived(std::span<const std::byte> bytes) noexcept { input_ = bytes; }

    [[nodiscard]] bool consumed() const noexcept { return input_.empty(); }

    // Data to send.
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
