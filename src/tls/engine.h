// engine.h: one end of a TLS connection, without the connection: what comes in, and what goes out, is memory.
//
// Each call is one call of libssl: the thread's error queue is emptied, the call made, and what it left in the queue read, and nothing
// in between can park. So it does not matter on which OS thread the next one is made.
//
// Who: the holder of the connection's lock.
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
        wants_input,  // call again when more has arrived
        ended,        // the other side has said that there is no more
        failed,       // for ever: see failed()
    };

    struct step {
        outcome what;
        std::size_t count = 0;  // bytes read or written
    };

    // host: of a client, whom it wants to talk to. Throws std::invalid_argument, std::bad_alloc.
    engine(std::shared_ptr<shared_context> with, std::string_view host);

    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;

    [[nodiscard]] step handshake() noexcept;

    // At most b.size() bytes, which is not 0.
    [[nodiscard]] step read(net::mutable_buffer b) noexcept;

    // At most a record of b, whose size is not 0.
    [[nodiscard]] step write(net::const_buffer b) noexcept;

    // Puts into the output that we send no more. Requires: the handshake is over.
    void say_goodbye() noexcept;

    // Why it has failed.
    [[nodiscard]] const failure& failed() const noexcept { return failed_; }

    [[nodiscard]] wire& memory() noexcept { return wire_; }

    [[nodiscard]] const SSL* ssl() const noexcept { return ssl_.get(); }

    [[nodiscard]] const std::string& host() const noexcept { return host_; }

    // The engine of an SSL.
    [[nodiscard]] static engine* of(const SSL* ssl) noexcept { return static_cast<engine*>(SSL_get_app_data(ssl)); }

    // Called by OpenSSL for each certificate that the other side has shown.
    static int verified(int is_good, X509_STORE_CTX* at) noexcept;

    static constexpr std::size_t record_max = SSL3_RT_MAX_PLAIN_LENGTH;

private:
    void begin_client();
    [[nodiscard]] step classify(int result) noexcept;

    const std::shared_ptr<shared_context> shared_;
    const std::string host_;
    wire wire_;
    failure failed_;
    ssl_handle ssl_;  // the last: it writes to what is above
};

}  // namespace weft::tls::detail
