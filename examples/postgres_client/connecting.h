// connecting.h: from a connection string to a connection, without a call that blocks.
//
// libpq connects in steps (PQconnectStart, PQconnectPoll) and says after each for what it wants to wait: the connection itself, the TLS handshake, the
// password, all of it. Two things are to be known:
//
//   - It looks names up in the middle of a step, with a call that blocks. So they are looked up here, by weft, and libpq gets addresses besides (hostaddr);
//     a name with two addresses becomes two hosts, which it tries one after the other. The name stays, for the certificate.
//   - The socket is not the same from one step to the next: another address, or the same once more without TLS, perhaps under the same number. So each
//     wait is wait_fd's, which forgets the descriptor when it returns, and no watched_fd's.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <string>

namespace postgres_client {

struct finish_it {
    void operator()(PGconn* c) const noexcept { PQfinish(c); }
};

using connection_handle = std::unique_ptr<PGconn, finish_it>;

// Connects, and logs in. conninfo: as libpq understands it, "host=… dbname=…" or a URI; what is not there is taken from the environment (PGHOST …). Throws
// connection_error; std::system_error for a name that has no address. A cancellation point.
[[nodiscard]] connection_handle connect(const std::string& conninfo);

}  // namespace postgres_client
