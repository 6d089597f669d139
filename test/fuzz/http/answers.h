// answers.h: takes the answers of an HTTP server apart, and does not put up with anything.
//
// Checked of all: each is complete and well-formed (RFC 9112), has one of the statuses that the server documents and what belongs to it, agrees with its
// line in the access log, and is the last one if it says so. What is answered with is a file that may be had, a part of one, JSON or
// a reason; never a secret.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/http/service.h"

namespace fuzz::http {

struct answer {
    unsigned status = 0;
    std::map<std::string, std::string, std::less<>> fields;  // names in small letters
    std::string_view body;
    bool is_last = false;

    [[nodiscard]] std::string_view field(std::string_view name) const;
};

// about: what was asked, for whoever reads that something does not hold. Interim answers (100) are checked and left out.
[[nodiscard]] std::vector<answer> checked_answers(const talk& t, std::string_view about);

}  // namespace fuzz::http
