// status.cc: see status.h.
#include "c/status.h"

#include <new>
#include <stdexcept>

#include <weft/detail/wait.h>

namespace weft::detail {

run_status_t status_of_exception() noexcept {
    try {
        throw;
    } catch (const cancelled&) {
        return RUN_CANCELLED;
    } catch (const timed_out&) {
        return RUN_EXPIRED;
    } catch (const channel_closed&) {
        return RUN_CLOSED;
    } catch (const resource_exhausted&) {
        return RUN_EXHAUSTED;
    } catch (const std::bad_alloc&) {
        return RUN_EXHAUSTED;
    } catch (...) {
        return RUN_INVALID;  // std::invalid_argument, std::system_error: the request was invalid
    }
}

}  // namespace weft::detail

const char* run_status_text(run_status_t status) noexcept {
    switch (status) {
        case RUN_OK:
            return "done";
        case RUN_CLOSED:
            return "the channel is closed";
        case RUN_TIMEOUT:
            return "the timeout passed first";
        case RUN_WOULD_BLOCK:
            return "the operation would block";
        case RUN_CANCELLED:
            return "cancelled";
        case RUN_EXPIRED:
            return "the deadline around the caller passed";
        case RUN_EXHAUSTED:
            return "no memory, threads or address space";
        case RUN_INVALID:
            return "an argument is invalid, or the caller may not call this";
        case RUN_BUSY:
            return "it exists already, or is used for something else";
        case RUN_FAILED:
            return "a task has failed";
        case RUN_SYSTEM:
            return "the system reported an error: see the error number";
        case RUN_NOT_FOUND:
            return "the name does not exist, or no name server answers";
    }
    return "unknown status";
}

int64_t run_now_ns(void) noexcept { return weft::detail::now_ns(); }
