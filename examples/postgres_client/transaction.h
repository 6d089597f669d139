// transaction.h: statements that are done all together or not at all, once more if another transaction was in the way.
#pragma once

#include <functional>

#include "connection.h"

namespace postgres_client {

// Calls f within a transaction, as if no other one were under way (SERIALIZABLE), and commits it. Where the server gives it up because of another one, f
// is called again, several times. If f throws, or is interrupted, nothing has happened. Throws what f throws; statement_error; connection_error, after which,
// if it was the commit's, nobody knows. Returns how often f was called in vain.
int in_transaction(connection& c, const std::function<void(connection&)>& f);

}  // namespace postgres_client
