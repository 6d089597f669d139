// connecting.h: makes a connection from a connection string, without a blocking call.
//
// libpq connects in steps (PQconnectStart, PQconnectPoll). After each step it says which event to
// wait for, from the TCP connection through the TLS handshake to the password. Two details matter:
//
// - Within a step, libpq looks up names with a blocking call. Here weft looks up the names, and
//   libpq also gets the addresses (hostaddr). A name with two addresses becomes two hosts, which
//   libpq tries one after the other. The name itself is kept for the certificate.
// - The socket can change from one step to the next: for another address, or to retry without TLS,
//   and perhaps with the same descriptor number. So each wait uses wait_fd, which forgets the
//   descriptor when it returns, and not a watched_fd.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <string>

namespace weft::postgres::detail {

struct finish_it {
    void operator()(PGconn* c) const noexcept { PQfinish(c); }
};

using connection_handle = std::unique_ptr<PGconn, finish_it>;

// Connects and logs in. conninfo has the syntax of libpq, "host=… dbname=…" or a URI; missing parts
// come from the environment (PGHOST …). Throws std::system_error with an errc. A cancellation
// point.
[[nodiscard]] connection_handle connect(const std::string& conninfo);

// libpq ends its messages with a line end.
[[nodiscard]] std::string without_line_end(std::string text);

}  // namespace weft::postgres::detail
