// site.h: from a request to its answer: who is responsible for which path, and which methods there are.
#pragma once

#include "answer.h"
#include "counters.h"
#include "document_root.h"
#include "http.h"

namespace http_server {

class site {
public:
    // Both must live longer.
    site(const document_root& root, const counters& counted) noexcept : root_(root), counted_(counted) {}

    // Reads files and computes; talks to nobody. Any thread.
    [[nodiscard]] answer answer_to(const request& r) const;

private:
    [[nodiscard]] answer granted(const request& r) const;

    const document_root& root_;
    const counters& counted_;
};

}  // namespace http_server
