// answers.h: parses the answers of an HTTP server strictly.
//
// Every answer is complete and well-formed (RFC 9112). It has one of the statuses that the server
// documents, with the fields for it. It agrees with its line in the access log, and is the last one
// if it says so. Its content is a public file, a part of one, JSON or a reason, and never a secret.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/http/service.h"

namespace fuzz::http {

struct answer {
    unsigned status = 0;
    std::map<std::string, std::string, std::less<>> fields;  // names in lower case
    std::string_view body;
    bool is_last = false;

    [[nodiscard]] std::string_view field(std::string_view name) const;
};

// about: the request, for the message of a failed check. Interim answers (100) are checked and left
// out.
[[nodiscard]] std::vector<answer> checked_answers(const talk& t, std::string_view about);

}  // namespace fuzz::http
