// copy.h: COPY, the fastest way of many rows into and out of a table.
//
//     postgres::copy_in to(c, "COPY log FROM STDIN");
//     for (…) to.write(line + "\n");                      // in the format that the statement names
//     const uint64_t rows = to.finish();
//
//     postgres::copy_out from(c, "COPY log TO STDOUT");
//     while (std::optional<std::string> line = from.next()) …
//
// Both are movable, and one green thread uses them at a time. A server that does not keep up makes
// write() wait; a caller that does not call next() makes the server wait.
//
// See: docs/postgres.md
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <weft/detail/require.h>
#include <weft/postgres/client.h>

namespace weft::postgres {

/// COPY … FROM STDIN. If it is destroyed before finish(), the server stores nothing.
class copy_in {
public:
    /// Begins, on a connection of its own, or of a session or transaction, which must outlive it
    /// and is not used otherwise meanwhile. Throws as client::query(), and std::invalid_argument if
    /// the statement is not such a COPY.
    copy_in(client& c, const statement& s);
    copy_in(session& on, const statement& s);

    copy_in(copy_in&&) noexcept = default;
    copy_in& operator=(copy_in&&) = delete;
    ~copy_in() = default;

    /// Sends bytes, any number of rows or a part of one. Throws as client::query().
    void write(std::string_view bytes);

    /// Ends, and returns the number of rows. Throws server_error if a row was not accepted; nothing
    /// is stored then.
    uint64_t finish();

private:
    std::optional<session> own_;
    detail::connection* on_;
};

/// COPY … TO STDOUT. If it is destroyed before the end, the server is asked to stop.
class copy_out {
public:
    /// As copy_in.
    copy_out(client& c, const statement& s);
    copy_out(session& on, const statement& s);

    copy_out(copy_out&&) noexcept = default;
    copy_out& operator=(copy_out&&) = delete;
    ~copy_out() = default;

    /// Returns the next row, with its line end; nullopt at the end. Throws as client::query().
    [[nodiscard]] std::optional<std::string> next();

private:
    std::optional<session> own_;
    detail::connection* on_;
    bool at_end_ = false;
};

}  // namespace weft::postgres
