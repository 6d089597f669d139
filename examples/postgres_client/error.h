// error.h: the errors of a database.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace postgres_client {

// There is no connection, or it is lost. It is unknown whether the server has executed the
// statements in progress.
class connection_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The server has refused a statement. The connection remains usable.
class statement_error : public std::runtime_error {
public:
    statement_error(std::string code, const std::string& text)
        : std::runtime_error("the server says: " + text + " (" + code + ")"), code_(std::move(code)) {}

    // SQLSTATE, five characters.
    [[nodiscard]] const std::string& code() const noexcept { return code_; }

    // The transaction was aborted because of a conflict with another one; a retry may succeed.
    [[nodiscard]] bool is_worth_another_try() const noexcept {
        return code_ == "40001" || code_ == "40P01";  // serialization_failure, deadlock_detected
    }

private:
    std::string code_;
};

}  // namespace postgres_client
