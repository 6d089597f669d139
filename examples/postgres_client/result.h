// result.h: the answer of the server to one statement: owns a table of libpq.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <string>
#include <string_view>

namespace postgres_client {

class result {
public:
    // Takes ownership of r.
    explicit result(PGresult* r) noexcept : table_(r) {}

    [[nodiscard]] int rows() const noexcept { return PQntuples(table_.get()); }

    [[nodiscard]] int columns() const noexcept { return PQnfields(table_.get()); }

    [[nodiscard]] bool is_null(int row, int column) const noexcept {
        return PQgetisnull(table_.get(), row, column) != 0;
    }

    // A value, as text. Valid as long as the result.
    [[nodiscard]] std::string_view text(int row, int column) const noexcept {
        return {PQgetvalue(table_.get(), row, column),
                static_cast<std::size_t>(PQgetlength(table_.get(), row, column))};
    }

    // What was done: "SELECT 3", "CREATE TABLE".
    [[nodiscard]] const char* tag() const noexcept { return PQcmdStatus(table_.get()); }

    [[nodiscard]] ExecStatusType status() const noexcept { return PQresultStatus(table_.get()); }

    // For an error: its five-character code (SQLSTATE), and its text.
    [[nodiscard]] std::string error_code() const { return field(PG_DIAG_SQLSTATE); }

    [[nodiscard]] std::string error_text() const { return field(PG_DIAG_MESSAGE_PRIMARY); }

private:
    struct clear_it {
        void operator()(PGresult* r) const noexcept { PQclear(r); }
    };

    [[nodiscard]] std::string field(int which) const {
        const char* const text = PQresultErrorField(table_.get(), which);
        return text == nullptr ? std::string() : std::string(text);
    }

    std::unique_ptr<PGresult, clear_it> table_;
};

}  // namespace postgres_client
