// certificates.h: authorities and certificates for tests, made when they are needed: no key lies in a file here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <weft/tls/context.h>

namespace weft::test {

enum class key_kind { elliptic, rsa };

struct certificate_options {
    std::vector<std::string> hosts = {"example.test"};  // names, or addresses of IPv4
    long valid_from = -3600;                            // seconds from now
    long valid_until = 3600;
    key_kind kind = key_kind::elliptic;
};

// One that signs.
class authority {
public:
    explicit authority(const std::string& name = "weft test authority");
    ~authority();
    authority(const authority&) = delete;
    authority& operator=(const authority&) = delete;

    [[nodiscard]] tls::certificate issue(const certificate_options& options = {}) const;

    // Its own certificate, in PEM: for those who trust it.
    [[nodiscard]] const std::string& pem() const noexcept { return pem_; }

private:
    struct keys;
    std::unique_ptr<keys> keys_;
    std::string pem_;
};

// The one that most tests trust.
[[nodiscard]] const authority& test_authority();

// A key of its own, encrypted with a password.
[[nodiscard]] std::string encrypted_key();

}  // namespace weft::test
