// engine.h: one end of a TLS connection, with its input and output in memory.
//
// Each call empties the thread's error queue, makes one call of libssl, and reads the queue. It
// cannot park in between, so the next call may be made on any OS thread.
//
// Threads: the holder of the connection's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <weft/net/buffer.h>
#include <weft/tls/context.h>

#include "tls/explain.h"
#include "tls/handle.h"
#include "tls/wire.h"

namespace weft::tls::detail {

class shared_context;

class engine {
public:
    enum class outcome : uint8_t {
        done,
        wants_input,  // call again with more input
        ended,        // the peer has signalled the end
        failed,       // permanently: see failed()
    };

    struct step {
        outcome what;
        std::size_t count = 0;  // bytes read or written
    };

    // host: the peer a client wants. Throws std::invalid_argument, std::bad_alloc.
    engine(std::shared_ptr<shared_context> with, std::string_view host);

    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;

    [[nodiscard]] step handshake() noexcept;

    [[nodiscard]] step read(net::mutable_buffer b) noexcept;

    // Writes at most one record of b. Requires, like read: b is not empty.
    [[nodiscard]] step write(net::const_buffer b) noexcept;

    // Adds close_notify to the output. Requires: the handshake is over.
    void say_goodbye() noexcept;

    [[nodiscard]] const failure& failed() const noexcept { return failed_; }

    [[nodiscard]] wire& memory() noexcept { return wire_; }

    [[nodiscard]] const SSL* ssl() const noexcept { return ssl_.get(); }

    [[nodiscard]] const std::string& host() const noexcept { return host_; }

    [[nodiscard]] static engine* of(const SSL* ssl) noexcept { return static_cast<engine*>(SSL_get_app_data(ssl)); }

    // OpenSSL calls it for each certificate of the peer.
    static int verified(int is_good, X509_STORE_CTX* at) noexcept;

    static constexpr std::size_t record_max = SSL3_RT_MAX_PLAIN_LENGTH;

private:
    void begin_client();
    [[nodiscard]] step classify(int result) noexcept;

    const std::shared_ptr<shared_context> shared_;
    const std::string host_;
    wire wire_;
    failure failed_;
    ssl_handle ssl_;  // the last member: it writes to those above
};

}  // namespace weft::tls::detail
