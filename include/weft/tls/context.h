// context.h: the settings that a program's TLS streams share: trust, own certificates, versions.
//
// A handle: copies share one immutable context, so any thread may use it for any number of streams
// at a time. It lives as long as the last stream made with it. Making one reads and checks keys,
// which takes a millisecond, so make it once.
//
// See: docs/tls.md
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <weft/detail/require.h>

namespace weft::tls {

namespace detail {
class shared_context;
}  // namespace detail

enum class version { tls_1_2, tls_1_3 };

/// A certificate, its chain to an authority, and its unencrypted private key, in PEM.
struct certificate {
    std::string chain;  ///< the certificate itself first
    std::string key;

    /// Reads two files, which may be the same. Throws std::system_error, which names the file.
    [[nodiscard]] static certificate from_files(const std::string& chain_file, const std::string& key_file);
};

struct client_options {
    /// Trusts the authorities of the operating system (OpenSSL's directory, or SSL_CERT_FILE and
    /// SSL_CERT_DIR).
    bool trust_system = true;

    /// Additional trusted authorities: any number of certificates in PEM.
    std::string trusted = {};

    /// Whether the server's certificate must be valid and match the requested host. Without it
    /// anyone on the path can read and change all data: for tests only.
    bool verify = true;

    /// Presented to a server that asks for a certificate. Empty: none.
    certificate own = {};

    /// Application protocols (ALPN) in order of preference: "h2", "http/1.1". Empty: not
    /// negotiated.
    std::vector<std::string> protocols = {};

    version minimum = version::tls_1_2;

    /// Sessions are kept for this many hosts, to shorten later handshakes. 0: none.
    std::size_t sessions = 64;
};

struct server_options {
    enum class clients { any, may_show_certificate, must_show_certificate };

    /// Presented to clients: the certificate that matches the requested host (SNI), else the first.
    std::vector<certificate> own = {};

    /// Application protocols (ALPN) in order of preference. A client that offers only others is
    /// refused. Empty: not negotiated.
    std::vector<std::string> protocols = {};

    version minimum = version::tls_1_2;

    /// Whether clients must authenticate. A client that presents an invalid certificate is always
    /// refused.
    clients who = clients::any;

    /// The authorities accepted for client certificates, in PEM.
    std::string trusted = {};
};

class context {
public:
    /// Create a context for client or server streams. Throw std::system_error, which says what
    /// cannot be used and why (errc::unusable_credentials), std::invalid_argument for contradictory
    /// options, and std::bad_alloc.
    [[nodiscard]] static context client(const client_options& options = {});
    [[nodiscard]] static context server(const server_options& options);

    /// A server with one certificate.
    [[nodiscard]] static context server(const certificate& own);

private:
    friend class stream;

    explicit context(std::shared_ptr<detail::shared_context> shared) noexcept : shared_(std::move(shared)) {}

    std::shared_ptr<detail::shared_context> shared_;
};

}  // namespace weft::tls
