// site.h: from a request to its answer: which function answers which path, and which methods exist.
#pragma once

#include "answer.h"
#include "counters.h"
#include "document_root.h"
#include "http.h"

namespace http_server {

class site {
public:
    // Both arguments must outlive the site.
    site(const document_root& root, const counters& counted) noexcept : root_(root), counted_(counted) {}

    // Reads files and computes; does no network I/O. Any thread.
    [[nodiscard]] answer answer_to(const request& r) const;

private:
    [[nodiscard]] answer granted(const request& r) const;

    const document_root& root_;
    const counters& counted_;
};

}  // namespace http_server
