// copy.cc: see weft/postgres/copy.h.
#include <weft/postgres/copy.h>

#include "postgres/connection.h"

namespace weft::postgres {

copy_in::copy_in(client& c, const statement& s) : own_(c.open()), on_(&own_->connection()) {
    on_->begin_copy(s, PGRES_COPY_IN);
}

copy_in::copy_in(session& on, const statement& s) : on_(&on.connection()) { on_->begin_copy(s, PGRES_COPY_IN); }

void copy_in::write(std::string_view bytes) { on_->put(bytes); }

uint64_t copy_in::finish() { return on_->end_copy(); }

copy_out::copy_out(client& c, const statement& s) : own_(c.open()), on_(&own_->connection()) {
    on_->begin_copy(s, PGRES_COPY_OUT);
}

copy_out::copy_out(session& on, const statement& s) : on_(&on.connection()) { on_->begin_copy(s, PGRES_COPY_OUT); }

std::optional<std::string> copy_out::next() {
    if (at_end_) return std::nullopt;
    std::optional<std::string> line = on_->get();
    at_end_ = !line;
    return line;
}

}  // namespace weft::postgres
