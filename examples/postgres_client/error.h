// error.h: what goes wrong with a database.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace postgres_client {

// There is no connection, or none any more. Whether the server has done what was under way nobody knows.
class connection_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The server has refused a statement. The connection is as good as before.
class statement_error : public std::runtime_error {
public:
    statement_error(std::string code, const std::string& text)
        : std::runtime_error("the server says: " + text + " (" + code + ")"), code_(std::move(code)) {}

    // SQLSTATE, five characters.
    [[nodiscard]] const std::string& code() const noexcept { return code_; }

    // Two transactions were in each other's way, and this one has given up: the same again may well succeed.
    [[nodiscard]] bool is_worth_another_try() const noexcept {
        return code_ == "40001" || code_ == "40P01";  // serialization_failure, deadlock_detected
    }

private:
    std::string code_;
};

}  // namespace postgres_client
