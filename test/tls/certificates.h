// certificates.h: authorities and certificates for tests, generated on demand, so that no file
// holds a key.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <weft/tls/context.h>

namespace weft::test {

enum class key_kind { elliptic, rsa };

struct certificate_options {
    std::vector<std::string> hosts = {"example.test"};  // host names, or IPv4 addresses
    long valid_from = -3600;                            // seconds from now
    long valid_until = 3600;
    key_kind kind = key_kind::elliptic;
};

// An authority that signs certificates.
class authority {
public:
    explicit authority(const std::string& name = "weft test authority");
    ~authority();
    authority(const authority&) = delete;
    authority& operator=(const authority&) = delete;

    [[nodiscard]] tls::certificate issue(const certificate_options& options = {}) const;

    // The authority's own certificate in PEM, for peers that trust it.
    [[nodiscard]] const std::string& pem() const noexcept { return pem_; }

private:
    struct keys;
    std::unique_ptr<keys> keys_;
    std::string pem_;
};

// The authority that most tests trust.
[[nodiscard]] const authority& test_authority();

// A key, encrypted with a password.
[[nodiscard]] std::string encrypted_key();

}  // namespace weft::test
