// copy_file.cc: copies files: weft/fs/tree.h.
//
//   C1  the system copies, piece by piece, so that a cancellation ends it
//   C2  where it cannot (another file system, a file of /proc without a size, a simulation): reads
//       and writes, from where C1 has come to
#include <algorithm>
#include <cstddef>
#include <string>
#include <system_error>

#include <weft/blocking.h>
#include <weft/fs/tree.h>

#include "fs/interruption.h"
#include "fs/report.h"
#include "os/path_calls.h"
#include "sched/simulated_fds.h"

namespace weft::fs {

namespace {

namespace os = weft::detail::os;

constexpr std::size_t piece_in_system = std::size_t{16} << 20;
constexpr std::size_t piece_read = std::size_t{256} << 10;

// C1. The first error only means that C2 has to try.
uint64_t copy_in_system(const file& in, const file& out, std::error_code& ec) {
    uint64_t copied = 0;
    if (weft::detail::is_simulated_fd(in.native_handle()) || weft::detail::is_simulated_fd(out.native_handle()))
        return 0;
    while (!detail::is_interrupted(ec)) {
        const int64_t n =
            blocking([&] { return os::copy_between_files(in.native_handle(), out.native_handle(), piece_in_system); });
        if (n <= 0) break;
        copied += static_cast<uint64_t>(n);
    }
    return copied;
}

// C2.
uint64_t copy_by_reading(file& in, file& out, std::error_code& ec) {
    uint64_t copied = 0;
    std::string piece(piece_read, '\0');
    while (!detail::is_interrupted(ec)) {
        const std::size_t n = in.read(mutable_buffer(piece.data(), piece.size()), ec);
        if (ec || n == 0) break;
        copied += out.write_all(const_buffer(piece.data(), n), ec);
        if (ec || n < piece.size()) break;
    }
    return copied;
}

// Opens to for writing. It is empty then. is_new: the call has made it.
file open_copy(const std::string& to, const file_info& of, const copy_options& how, bool& is_new, std::error_code& ec) {
    const uint32_t permissions = of.permissions & 0777U;
    file made(to, {.mode = access::write, .create = true, .exclusive = true, .permissions = permissions}, ec);
    is_new = !ec;
    if (ec != std::errc::file_exists || !how.overwrite) return made;
    file existing(to, {.mode = access::write, .create = true, .permissions = permissions}, ec);
    if (ec) return existing;
    const file_info there = existing.stat(ec);
    if (!ec && there.device == of.device && there.inode == of.inode)
        ec = std::make_error_code(std::errc::invalid_argument);
    if (!ec && there.type == file_type::regular) existing.truncate(0, ec);
    return existing;
}

}  // namespace

uint64_t copy_file(const std::string& from, const std::string& to, const copy_options& how, std::error_code& ec) {
    file in(from, {}, ec);
    if (ec) return 0;
    const file_info info = in.stat(ec);
    if (!ec && info.type == file_type::directory) ec = std::make_error_code(std::errc::is_a_directory);
    if (ec) return 0;
    bool is_new = false;
    file out = open_copy(to, info, how, is_new, ec);
    if (ec) return 0;
    uint64_t copied = copy_in_system(in, out, ec);
    if (!ec) copied += copy_by_reading(in, out, ec);
    if (ec && is_new) {
        std::error_code ignored;
        unlink(to, ignored);
    }
    return copied;
}

uint64_t copy_file(const std::string& from, const std::string& to, const copy_options& how) {
    std::error_code ec;
    const uint64_t copied = copy_file(from, to, how, ec);
    detail::throw_if(ec, ("copy to \"" + to + "\" from").c_str(), from);
    return copied;
}

}  // namespace weft::fs
