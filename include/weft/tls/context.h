// context.h: what the streams of a program have in common: whom they trust, what they show, which versions they speak.
//
// A handle: copies share one context, which nobody changes any more once it is made; so any thread may use it for any number of streams at a
// time. It lives as long as the last stream that was made with it. Making one reads and checks keys, which takes a millisecond: make it
// once.
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

// A certificate, with those that lead from it to an authority, and its private key, in PEM. The key is not encrypted.
struct certificate {
    std::string chain;  // the certificate itself first
    std::string key;

    // Reads two files, which may be the same. Throws std::system_error, which names the file.
    [[nodiscard]] static certificate from_files(const std::string& chain_file, const std::string& key_file);
};

struct client_options {
    // The authorities of the operating system are trusted. (OpenSSL's directory; SSL_CERT_FILE and SSL_CERT_DIR name another.)
    bool trust_system = true;

    // Authorities that are trusted, too: certificates in PEM, as many as are in there.
    std::string trusted = {};

    // Whether the server's certificate has to be valid, and for the host that was asked for. Without it anybody in between can read and change
    // everything: for tests only.
    bool verify = true;

    // Shown to a server that asks for one. Empty: none.
    certificate own = {};

    // Application protocols (ALPN), the most wanted first: "h2", "http/1.1". Empty: not spoken of.
    std::vector<std::string> protocols = {};

    version minimum = version::tls_1_2;

    // What the last connections to this many hosts have agreed on is kept, and spares the next ones a part of the handshake. 0: none.
    std::size_t sessions = 64;
};

struct server_options {
    enum class clients { any, may_show_certificate, must_show_certificate };

    // Shown to clients: the one whose names match the host that a client asks for (SNI), else the first.
    std::vector<certificate> own = {};

    // Application protocols (ALPN), the most wanted first. A client that offers some, none of which is here, is refused. Empty: not spoken of.
    std::vector<std::string> protocols = {};

    version minimum = version::tls_1_2;

    // Whether clients have to show who they are. One that shows a certificate that is not good is refused in any case.
    clients who = clients::any;

    // The authorities that may have signed certificates of clients, in PEM.
    std::string trusted = {};
};

class context {
public:
    // For client streams, and for server streams. Throw std::system_error, which says what cannot be used and why (errc::unusable_credentials),
    // std::invalid_argument for options that contradict each other, and std::bad_alloc.
    [[nodiscard]] static context client(const client_options& options = {});
    [[nodiscard]] static context server(const server_options& options);

    // A server with one certificate.
    [[nodiscard]] static context server(const certificate& own);

private:
    friend class stream;

    explicit context(std::shared_ptr<detail::shared_context> shared) noexcept : shared_(std::move(shared)) {}

    std::shared_ptr<detail::shared_context> shared_;
};

}  // namespace weft::tls
