// context.cc: see weft/tls/context.h.
#include <weft/tls/context.h>

#include "tls/shared_context.h"

namespace weft::tls {

context context::client(const client_options& options) {
    return context(std::make_shared<detail::shared_context>(options));
}

context context::server(const server_options& options) {
    return context(std::make_shared<detail::shared_context>(options));
}

context context::server(const certificate& own) { return server(server_options{.own = {own}}); }

}  // namespace weft::tls
