// answer.h: answers of JetStream, in JSON.
#pragma once

#include <string_view>

#include <weft/nats/error.h>

#include "nats/json.h"

namespace weft::nats::detail {

// Throws jetstream_error if the answer is an error.
inline void check_answer(std::string_view answer) {
    if (const auto error = json_value(answer, "error")) {
        throw jetstream_error(static_cast<int>(json_integer(*error, "code")),
                              static_cast<int>(json_integer(*error, "err_code")), json_text(*error, "description"));
    }
}

}  // namespace weft::nats::detail
