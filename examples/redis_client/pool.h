// pool.h: connections to one Redis server that many green threads share.
#pragma once

#include <cstddef>

#include "../connection_pool.h"
#include "connection.h"

namespace redis_client {

class pool : public connection_pool<connection> {
public:
    pool(const server& at, std::size_t most) : connection_pool(most, [at] { return connection(at); }) {}
};

}  // namespace redis_client
