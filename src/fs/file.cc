// file.cc: see weft/fs.h.

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include <weft/blocking.h>
#include <weft/error.h>
#include <weft/fs.h>
#include <weft/time.h>

#include "fs/file_io.h"
#include "fs/info.h"
#include "fs/report.h"
#include "net/fd_io.h"
#include "net/report.h"
#include "os/fd_calls.h"
#include "os/file_calls.h"
#include "os/sockets.h"
#include "sched/simulated_files.h"

namespace weft::fs {

namespace {

namespace os = weft::detail::os;
using detail::info_of;
using detail::set_result;
using detail::throw_failed;
using detail::throw_if;
using weft::detail::fd_handle;
using weft::detail::fd_use;
using weft::detail::file_way;
using weft::detail::io_result;

constexpr std::size_t pieces_max = 64;
constexpr std::size_t bytes_max = 0x7fff'0000;  // the limit of the system for one call

// nullptr if the options are consistent.
const char* mistake_in(const std::string& path, const open_options& how) noexcept {
    const bool writes = how.mode != access::read;
    if (path.find('\0') != std::string::npos) return "open (the path contains a zero byte)";
    if (how.exclusive && !how.create) return "open (exclusive needs create: set both)";
    if (how.truncate && !writes) return "open (truncate needs access::write or access::read_write)";
    if (how.append && !writes) return "open (append needs access::write or access::read_write)";
    if ((how.permissions & ~07777U) != 0) return "open (permissions have at most 12 bits, for example 0644)";
    return nullptr;
}

os::open_flags flags_of(const open_options& how) noexcept {
    return {.read = how.mode != access::write,
            .write = how.mode != access::read,
            .create = how.create,
            .exclusive = how.exclusive,
            .truncate = how.truncate,
            .append = how.append,
            .data_sync = how.data_sync};
}

struct opening {
    int fd = -1;                  // or minus errno's value
    bool is_nonblocking = false;  // it was a FIFO a moment before
};

// Opens a FIFO without waiting for its other side.
opening open_once(const char* path, const open_options& how) noexcept {
    os::open_flags flags = flags_of(how);
    os::file_status s{};
    const bool must_be_new = how.create && how.exclusive;
    flags.nonblocking = !must_be_new && os::file_status_at(path, true, s) == 0 && s.kind == os::file_kind::fifo;
    return {os::file_open(path, flags, how.permissions), flags.nonblocking};
}

constexpr std::chrono::milliseconds shortest_pause(1);
constexpr std::chrono::milliseconds longest_pause(50);

// Also waits for a reader of a FIFO, by polling, because the system reports none.
opening open_file(const char* path, const open_options& how) {
    if (weft::detail::simulated_files* files = weft::detail::simulated_files_at(path)) [[unlikely]]
        return {files->open(path, flags_of(how), how.permissions), false};
    for (auto pause = shortest_pause;; pause = std::min(2 * pause, longest_pause)) {
        const opening o = blocking([&] { return open_once(path, how); });
        const bool awaits_reader = o.is_nonblocking && o.fd == -ENXIO;
        if (!awaits_reader) return o;
        sleep_for(pause);
    }
}

class remaining {
public:
    remaining(const void* data, std::size_t size) noexcept : first_(data), first_size_(size) {}

    // list must outlive this.
    template <typename Buffer>
    explicit remaining(std::span<const Buffer> list) noexcept
        : at_([](const void* all, std::size_t i) noexcept {
              const Buffer& b = static_cast<const Buffer*>(all)[i];
              return piece{b.data(), b.size()};
          }),
          list_(list.data()),
          count_(list.size()) {}

    // Fills in the next buffers, bytes_max bytes at most. Returns their number.
    [[nodiscard]] std::size_t peek(std::array<iovec, pieces_max>& into) noexcept {
        std::size_t bytes = 0;
        std::size_t count = 0;
        piece p{first_, first_size_};
        for (std::size_t i = next_; count < into.size() && bytes < bytes_max; p = at_(list_, i++)) {
            const std::size_t size = std::min(p.size, bytes_max - bytes);
            if (size != 0) into[count++] = {const_cast<void*>(p.data), size};
            bytes += size;
            if (i == count_) break;
        }
        return count;
    }

    void advance(std::size_t bytes) noexcept {
        while (bytes >= first_size_ && next_ < count_) {
            bytes -= first_size_;
            const piece p = at_(list_, next_++);
            first_ = p.data;
            first_size_ = p.size;
        }
        first_ = static_cast<const std::byte*>(first_) + bytes;
        first_size_ -= bytes;
    }

private:
    struct piece {
        const void* data;
        std::size_t size;
    };

    const void* first_ = nullptr;  // the rest of the first buffer …
    std::size_t first_size_ = 0;
    piece (*at_)(const void*, std::size_t) noexcept = nullptr;  // … followed by these, from next_ on
    const void* list_ = nullptr;
    std::size_t count_ = 0;
    std::size_t next_ = 0;
};

enum class until : uint8_t { some, all };

// Calls move(use, pieces, count, offset) once, or until no bytes are left, it moves none, or it
// fails.
template <typename Move>
std::size_t repeat(const fd_handle& h, remaining left, int64_t offset, until end, std::error_code& ec, Move move) {
    ec.clear();
    std::size_t done = 0;
    std::array<iovec, pieces_max> vector;
    while (const std::size_t count = left.peek(vector)) {
        const fd_use use(h.desc(), h.generation());
        if (!use.entered()) {
            ec = errc::closed;
            break;
        }
        const bool at_position = offset == os::own_position;
        const io_result r = move(use, vector.data(), count, at_position ? offset : offset + static_cast<int64_t>(done));
        if (r.ended != io_result::how::done) {
            ec = net::detail::code_of(r);
            break;
        }
        if (r.count == 0) break;
        const auto moved = static_cast<std::size_t>(r.count);
        done += moved;
        left.advance(moved);
        if (end == until::some) break;
    }
    return done;
}

std::size_t read_into(
    const fd_handle& h, file_way way, remaining into, int64_t offset, until end, std::error_code& ec) {
    return repeat(h, into, offset, end, ec, [&](const fd_use& use, const iovec* pieces, std::size_t count, int64_t at) {
        return weft::detail::read_file_piece(use, way, pieces, count, at);
    });
}

std::size_t write_from(
    const fd_handle& h, file_way way, remaining from, int64_t offset, until end, std::error_code& ec) {
    return repeat(h, from, offset, end, ec, [&](const fd_use& use, const iovec* pieces, std::size_t count, int64_t at) {
        return weft::detail::write_file_piece(use, way, pieces, count, at);
    });
}

// A negative offset could be own_position by mistake.
bool is_offset(int64_t offset, std::error_code& ec) noexcept {
    if (offset >= 0) return true;
    ec = std::make_error_code(std::errc::invalid_argument);
    return false;
}

// Returns f's result; -1 if the file is closed.
template <typename F>
int64_t with_fd(const fd_handle& h, std::error_code& ec, F f) {
    const fd_use use(h.desc(), h.generation());
    if (!use.entered()) {
        ec = errc::closed;
        return -1;
    }
    const int64_t result = f(h.fd());
    set_result(ec, result);
    return result;
}

}  // namespace

file::file(const std::string& path, const open_options& how, std::error_code& ec) : path_(path) {
    if (mistake_in(path, how) != nullptr) {
        ec = std::make_error_code(std::errc::invalid_argument);
        return;
    }
    try {
        const opening o = open_file(path.c_str(), how);
        set_result(ec, o.fd);
        if (o.fd < 0) return;
        way_ = weft::detail::way_of_opened(o.fd, o.is_nonblocking);
        handle_ = fd_handle(o.fd);
    } catch (const cancelled&) {
        ec = errc::cancelled;
    } catch (const timed_out&) {
        ec = errc::timed_out;
    }
}

file::file(const std::string& path, const open_options& how) {
    if (const char* mistake = mistake_in(path, how))
        throw_failed(std::make_error_code(std::errc::invalid_argument), mistake, path);
    std::error_code ec;
    *this = file(path, how, ec);
    throw_if(ec, "open", path);
}

file file::adopt(int fd, std::string name) {
    file f;
    f.way_ = weft::detail::way_of_adopted(fd);
    f.handle_ = fd_handle(fd);
    f.path_ = std::move(name);
    return f;
}

std::size_t file::read_some(mutable_buffer b, std::error_code& ec) {
    return read_into(handle_, way_, {b.data(), b.size()}, os::own_position, until::some, ec);
}

std::size_t file::read(mutable_buffer b, std::error_code& ec) {
    return read_into(handle_, way_, {b.data(), b.size()}, os::own_position, until::all, ec);
}

std::size_t file::write_some(const_buffer b, std::error_code& ec) {
    return write_from(handle_, way_, {b.data(), b.size()}, os::own_position, until::some, ec);
}

std::size_t file::write_all(const_buffer b, std::error_code& ec) {
    return write_from(handle_, way_, {b.data(), b.size()}, os::own_position, until::all, ec);
}

std::size_t file::pread(mutable_buffer b, int64_t offset, std::error_code& ec) {
    if (!is_offset(offset, ec)) return 0;
    return read_into(handle_, way_, {b.data(), b.size()}, offset, until::all, ec);
}

std::size_t file::pwrite(const_buffer b, int64_t offset, std::error_code& ec) {
    if (!is_offset(offset, ec)) return 0;
    return write_from(handle_, way_, {b.data(), b.size()}, offset, until::all, ec);
}

std::size_t file::preadv(std::span<const mutable_buffer> into, int64_t offset, std::error_code& ec) {
    if (!is_offset(offset, ec)) return 0;
    return read_into(handle_, way_, remaining(into), offset, until::all, ec);
}

std::size_t file::pwritev(std::span<const const_buffer> from, int64_t offset, std::error_code& ec) {
    if (!is_offset(offset, ec)) return 0;
    return write_from(handle_, way_, remaining(from), offset, until::all, ec);
}

int64_t file::seek(int64_t offset, seek_from from, std::error_code& ec) {
    const auto whence = static_cast<os::seek_from>(from);
    return with_fd(handle_, ec, [&](int fd) { return weft::detail::seek_file(fd, offset, whence); });
}

void file::sync(std::error_code& ec) {
    with_fd(handle_, ec, [&](int fd) { return weft::detail::sync_file(fd, false); });
}

void file::sync_data(std::error_code& ec) {
    with_fd(handle_, ec, [&](int fd) { return weft::detail::sync_file(fd, true); });
}

file_info file::stat(std::error_code& ec) const {
    os::file_status s{};
    const int64_t result = with_fd(handle_, ec, [&](int fd) { return weft::detail::status_of_file(fd, s); });
    return result < 0 ? file_info{} : info_of(s);
}

uint64_t file::size(std::error_code& ec) const { return stat(ec).size; }

void file::truncate(uint64_t size, std::error_code& ec) {
    if (size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        ec = std::make_error_code(std::errc::file_too_large);
        return;
    }
    with_fd(handle_, ec, [&](int fd) { return weft::detail::truncate_file(fd, static_cast<int64_t>(size)); });
}

// ---- The throwing forms.

std::size_t file::read_some(mutable_buffer b) {
    std::error_code ec;
    const std::size_t moved = read_some(b, ec);
    throw_if(ec, "read_some", path_);
    return moved;
}

std::size_t file::read(mutable_buffer b) {
    std::error_code ec;
    const std::size_t moved = read(b, ec);
    throw_if(ec, "read", path_);
    return moved;
}

std::size_t file::write_some(const_buffer b) {
    std::error_code ec;
    const std::size_t moved = write_some(b, ec);
    throw_if(ec, "write_some", path_);
    return moved;
}

std::size_t file::write_all(const_buffer b) {
    std::error_code ec;
    const std::size_t moved = write_all(b, ec);
    throw_if(ec, "write_all", path_);
    return moved;
}

std::size_t file::pread(mutable_buffer b, int64_t offset) {
    std::error_code ec;
    const std::size_t moved = pread(b, offset, ec);
    throw_if(ec, "pread", path_);
    return moved;
}

std::size_t file::pwrite(const_buffer b, int64_t offset) {
    std::error_code ec;
    const std::size_t moved = pwrite(b, offset, ec);
    throw_if(ec, "pwrite", path_);
    return moved;
}

std::size_t file::preadv(std::span<const mutable_buffer> into, int64_t offset) {
    std::error_code ec;
    const std::size_t moved = preadv(into, offset, ec);
    throw_if(ec, "preadv", path_);
    return moved;
}

std::size_t file::pwritev(std::span<const const_buffer> from, int64_t offset) {
    std::error_code ec;
    const std::size_t moved = pwritev(from, offset, ec);
    throw_if(ec, "pwritev", path_);
    return moved;
}

int64_t file::seek(int64_t offset, seek_from from) {
    std::error_code ec;
    const int64_t at = seek(offset, from, ec);
    throw_if(ec, "seek", path_);
    return at;
}

void file::sync() {
    std::error_code ec;
    sync(ec);
    throw_if(ec, "sync", path_);
}

void file::sync_data() {
    std::error_code ec;
    sync_data(ec);
    throw_if(ec, "sync_data", path_);
}

file_info file::stat() const {
    std::error_code ec;
    file_info info = stat(ec);
    throw_if(ec, "stat", path_);
    return info;
}

uint64_t file::size() const {
    std::error_code ec;
    const uint64_t bytes = size(ec);
    throw_if(ec, "size", path_);
    return bytes;
}

void file::truncate(uint64_t size) {
    std::error_code ec;
    truncate(size, ec);
    throw_if(ec, "truncate", path_);
}

}  // namespace weft::fs
