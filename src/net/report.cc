// report.cc: see report.h.
#include "net/report.h"

#include <cerrno>

namespace weft::net::detail {

using how = weft::detail::io_result::how;

namespace {

const char* advice_on_shortage(int error) noexcept {
    if (error == EMFILE) return " (close some sockets, or raise the limit: ulimit -n)";
    if (error == ENFILE) return " (the system has too many open files: raise fs.file-max)";
    return "";
}

}  // namespace

void throw_errno(int error, const std::string& what) {
    throw std::system_error(error, std::generic_category(), what + advice_on_shortage(error));
}

std::error_code code_of(const weft::detail::io_result& result) noexcept {
    switch (result.ended) {
        case how::done:
            return {};
        case how::failed:
            return {result.error, std::generic_category()};
        case how::closed:
            return errc::closed;
        case how::cancelled:
            return errc::cancelled;
        case how::timed_out:
        case how::expired:
            return errc::timed_out;
    }
    return {};
}

void throw_result(const weft::detail::io_result& result, const char* what) {
    if (result.ended == how::cancelled) weft::detail::throw_interrupted(weft::detail::wait_result::cancelled);
    if (result.ended == how::expired) weft::detail::throw_interrupted(weft::detail::wait_result::expired);
    if (result.ended == how::failed) throw_errno(result.error, what);
    throw std::system_error(code_of(result), what);
}

}  // namespace weft::net::detail
