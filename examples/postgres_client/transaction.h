// transaction.h: executes statements all or none, and retries them after a conflict with another
// transaction.
#pragma once

#include <functional>

#include "connection.h"

namespace postgres_client {

// Calls f within a SERIALIZABLE transaction, and commits it. If the server aborts it because of a
// conflict with another one, f is called again, several times.
//
// If f throws or is interrupted, the transaction has no effect. Throws what f throws;
// statement_error; connection_error. If that comes from the commit, the outcome is unknown. Returns
// the number of failed attempts.
int in_transaction(connection& c, const std::function<void(connection&)>& f);

}  // namespace postgres_client
