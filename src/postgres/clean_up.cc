// clean_up.cc: the part of connection.h that makes a connection fit for its next user.
#include <array>
#include <exception>
#include <memory>
#include <utility>

#include <weft/blocking.h>
#include <weft/cancel.h>
#include <weft/chan.h>
#include <weft/error.h>
#include <weft/go.h>

#include "postgres/connection.h"

namespace weft::postgres::detail {

namespace {

// Identifies the statement to stop. May outlive the connection.
struct cancel_request {
    struct free_it {
        void operator()(PGcancel* c) const noexcept { PQfreeCancel(c); }
    };

    std::unique_ptr<PGcancel, free_it> handle;

    // Blocks until the server has seen the request.
    [[nodiscard]] bool send() const {
        std::array<char, 256> why;
        return handle && PQcancel(handle.get(), why.data(), static_cast<int>(why.size())) != 0;
    }
};

}  // namespace

bool connection::clean_up() noexcept {
    if (is_broken()) return false;
    try {
        if (in_progress_ && !stop_statement()) return false;
        return weft::shield([this] {
            return weft::with_timeout(cancel_time_, [this] {
                if (is_in_transaction()) query("ROLLBACK");
                if (tainted_) {
                    query("DISCARD ALL");
                    prepared_.clear();
                    tainted_ = false;
                }
                return is_clean();
            });
        });
    } catch (...) {
        return false;  // the connection is closed
    }
}

// Returns whether the connection can be used again. What has interrupted the statement does not
// interrupt this; cancel_time does.
bool connection::stop_statement() {
    cancel_request request{std::unique_ptr<PGcancel, cancel_request::free_it>(PQgetCancel(handle_.get()))};
    try {
        return weft::shield([&] {
            // A server that does not answer blocks only that green thread, not this one.
            const weft::chan<bool> sent(1);
            weft::go([r = std::move(request), sent] {
                static_cast<void>(sent.try_send(weft::blocking([&] { return r.send(); })));
            });
            return weft::with_timeout(cancel_time_, [&] {
                const bool is_drained = drain();
                return is_drained && sent.recv().value_or(false);
            });
        });
    } catch (const weft::timed_out&) {
        return false;
    } catch (const std::system_error&) {
        return false;
    }
}

// Reads to the end of what was sent. The last result says that the statement was cancelled, or had
// finished before.
bool connection::drain() {
    const bool pipelined = PQpipelineStatus(handle_.get()) != PQ_PIPELINE_OFF;
    if (pipelined && !is_synced_ && PQpipelineSync(handle_.get()) != 1) return false;
    flush();
    for (;;) {
        const std::optional<result> r = next_result();
        if (is_broken()) return false;
        if (!r && pipelined) continue;
        if (!r) break;
        const ExecStatusType status = PQresultStatus(r->native_handle());
        if (status == PGRES_PIPELINE_SYNC) {
            if (PQexitPipelineMode(handle_.get()) != 1) return false;
            break;
        }
        if (status == PGRES_COPY_IN) {
            if (PQputCopyEnd(handle_.get(), "the caller was interrupted") < 0) return false;
            flush();
        }
        if (status != PGRES_COPY_OUT) continue;
        for (char* data = nullptr;;) {
            const int size = PQgetCopyData(handle_.get(), &data, 1);
            if (size < 0) break;
            if (size > 0) {
                PQfreemem(data);
                continue;
            }
            socket_.wait(fd_events::readable);
            consume();
        }
    }
    in_progress_ = false;
    return true;
}

}  // namespace weft::postgres::detail
