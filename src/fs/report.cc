// report.cc: see report.h.
#include "fs/report.h"

#include <weft/detail/step.h>
#include <weft/detail/wait.h>
#include <weft/error.h>

namespace weft::fs::detail {

namespace {

const char* advice(const std::error_code& ec) noexcept {
    if (ec == std::errc::no_such_file_or_directory)
        return " (check the path; a relative one starts at the working directory; to create the file, set "
               "open_options::create)";
    if (ec == std::errc::permission_denied)
        return " (the user of this process has no permission: check those of the file and its directories)";
    if (ec == std::errc::too_many_files_open) return " (close some files, or raise the limit: ulimit -n)";
    if (ec == std::errc::is_a_directory) return " (it is a directory: read_directory() lists it)";
    if (ec == std::errc::bad_file_descriptor)
        return " (the file is not open for this operation: see open_options::mode)";
    if (ec == std::errc::no_space_on_device) return " (free some space on that file system)";
    if (ec == std::errc::not_supported && weft::detail::simulates())
        return " (the disk of a simulation has no links, modes, times, locks and watches: see docs/files.md)";
    if (ec == std::errc::file_exists) return " (something of that name exists; remove it, or choose another name)";
    if (ec == std::errc::directory_not_empty) return " (remove its entries first: fs::remove_all() does)";
    if (ec == std::errc::invalid_seek) return " (only a regular file has positions: use read and write)";
    return "";
}

}  // namespace

void throw_failed(const std::error_code& ec, const char* what, const std::string& path) {
    // Files have no deadlines: these come from a context around the caller.
    if (ec == errc::cancelled) weft::detail::throw_interrupted(weft::detail::wait_result::cancelled);
    if (ec == errc::timed_out) weft::detail::throw_interrupted(weft::detail::wait_result::expired);
    throw std::system_error(ec, std::string("weft: ") + what + " \"" + path + '"' + advice(ec));
}

}  // namespace weft::fs::detail
