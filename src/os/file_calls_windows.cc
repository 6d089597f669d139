// file_calls_windows.cc: see file_calls.h and std_handles.h.
//
// Paths are UTF-8. Files are opened so that others may rename and delete them, as elsewhere. A read
// or write at an offset also moves the handle's own position: programs that mix both on one file
// see that.
//
// No call here can tell whether it would wait for a disk or a reader. So the try_ forms say
// EOPNOTSUPP, and threads do the work.
#include <cerrno>
#include <cstring>
#include <new>

#include "os/fault_injection.h"
#include "os/fd_calls.h"
#include "os/file_calls.h"
#include "os/never_inlined.h"
#include "os/sockets.h"
#include "os/std_handles.h"
#include "os/windows_errors.h"

namespace weft::detail::os {

namespace {

constexpr int path_max = 32768;  // with its end; the system's limit

class wide_path {
public:
    explicit wide_path(const char* path) noexcept : text_(new(std::nothrow) wchar_t[path_max]) {
        if (text_ == nullptr)
            error_ = -ENOMEM;
        else if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, text_, path_max) == 0)
            error_ = std::strlen(path) >= path_max ? -ENAMETOOLONG : -EINVAL;
    }

    ~wide_path() { delete[] text_; }

    wide_path(const wide_path&) = delete;
    wide_path& operator=(const wide_path&) = delete;

    [[nodiscard]] const wchar_t* get() const noexcept { return text_; }

    [[nodiscard]] int error() const noexcept { return error_; }

private:
    wchar_t* text_;
    int error_ = 0;
};

int outcome(BOOL done) noexcept { return done != 0 ? 0 : -last_error_number(); }

constexpr DWORD share_all = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

DWORD disposition_of(const open_flags& how) noexcept {
    if (how.create && how.exclusive) return CREATE_NEW;
    if (how.create) return how.truncate ? CREATE_ALWAYS : OPEN_ALWAYS;
    return how.truncate ? TRUNCATE_EXISTING : OPEN_EXISTING;
}

DWORD access_of(const open_flags& how) noexcept {
    DWORD access = how.read || !how.write ? GENERIC_READ : 0;
    if (how.write) access |= how.append ? FILE_APPEND_DATA | FILE_WRITE_ATTRIBUTES | SYNCHRONIZE : GENERIC_WRITE;
    return access;
}

file_kind kind_of_attributes(DWORD attributes, DWORD tag) noexcept {
    constexpr DWORD tag_socket = 0x80000023;  // IO_REPARSE_TAG_AF_UNIX
    if ((attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0) {
        if (tag == IO_REPARSE_TAG_SYMLINK || tag == IO_REPARSE_TAG_MOUNT_POINT) return file_kind::symlink;
        if (tag == tag_socket) return file_kind::socket;
    }
    return (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ? file_kind::directory : file_kind::regular;
}

int64_t joined(DWORD high, DWORD low) noexcept { return static_cast<int64_t>((uint64_t{high} << 32) | low); }

// Since 1970; the system counts 100 ns from 1601.
int64_t unix_ns(int64_t system_time) noexcept {
    constexpr int64_t of_1970 = 116'444'736'000'000'000;
    constexpr int64_t ns_per_unit = 100;
    return (system_time - of_1970) * ns_per_unit;
}

// One piece of a call on several. Returns as file_read.
template <typename Move>
ssize_t move_pieces(const iovec* all, std::size_t count, int64_t offset, Move move) noexcept {
    ssize_t done = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t size = all[i].iov_len < INT32_MAX ? all[i].iov_len : INT32_MAX;
        if (size == 0) continue;
        OVERLAPPED at{};
        const auto position = static_cast<uint64_t>(offset + done);
        at.Offset = static_cast<DWORD>(position);
        at.OffsetHigh = static_cast<DWORD>(position >> 32);
        DWORD moved = 0;
        const bool ok =
            move(all[i].iov_base, static_cast<DWORD>(size), &moved, offset == own_position ? nullptr : &at) != 0;
        if (!ok) {
            const DWORD error = GetLastError();
            const bool ended = error == ERROR_HANDLE_EOF || error == ERROR_BROKEN_PIPE;
            return done > 0 || ended ? done : -error_number(error);
        }
        done += static_cast<ssize_t>(moved);
        if (moved != size || size != all[i].iov_len) break;
    }
    return done;
}

}  // namespace

WEFT_OS_CALL int file_open(const char* path, const open_flags& how, uint32_t permissions) noexcept {
    if (const int error = injected_failure(failure::open); error != 0) return -error;
    const wide_path wide(std::strcmp(path, "/dev/null") == 0 ? "NUL" : path);
    if (wide.error() != 0) return wide.error();
    constexpr uint32_t any_may_write = 0222;
    DWORD attributes =
        how.create && (permissions & any_may_write) == 0 ? FILE_ATTRIBUTE_READONLY : FILE_ATTRIBUTE_NORMAL;
    attributes |= FILE_FLAG_BACKUP_SEMANTICS;  // a directory can be opened
    if (how.data_sync) attributes |= FILE_FLAG_WRITE_THROUGH;
    HANDLE file = CreateFileW(wide.get(), access_of(how), share_all, nullptr, disposition_of(how), attributes, nullptr);
    if (file == INVALID_HANDLE_VALUE) return -last_error_number();
    if (how.directory) {
        FILE_BASIC_INFO info{};
        if (GetFileInformationByHandleEx(file, FileBasicInfo, &info, sizeof(info)) == 0 ||
            (info.FileAttributes & FILE_ATTRIBUTE_DIRECTORY) == 0) {
            CloseHandle(file);
            return -ENOTDIR;
        }
    }
    return to_fd(file);
}

WEFT_OS_CALL ssize_t file_read(int fd, const iovec* into, std::size_t count, int64_t offset) noexcept {
    return move_pieces(into, count, offset, [&](void* at, DWORD size, DWORD* moved, OVERLAPPED* position) {
        return ReadFile(to_handle(fd), at, size, moved, position);
    });
}

WEFT_OS_CALL ssize_t file_write(int fd, const iovec* from, std::size_t count, int64_t offset) noexcept {
    if (const int error = injected_failure(failure::write); error != 0) return -error;
    return move_pieces(from, count, offset, [&](const void* at, DWORD size, DWORD* moved, OVERLAPPED* position) {
        return WriteFile(to_handle(fd), at, size, moved, position);
    });
}

WEFT_OS_CALL bool file_has_positions(int fd) noexcept { return GetFileType(to_handle(fd)) == FILE_TYPE_DISK; }

ssize_t try_file_read(int /*fd*/, const iovec* /*into*/, std::size_t /*count*/, int64_t /*offset*/) noexcept {
    return -EOPNOTSUPP;
}

WEFT_OS_CALL ssize_t stream_write(int fd, const iovec* from, std::size_t count, int64_t offset) noexcept {
    return file_write(fd, from, count, offset);
}

ssize_t try_stream_write(int /*fd*/, const iovec* /*from*/, std::size_t /*count*/, int64_t /*offset*/) noexcept {
    return -EOPNOTSUPP;
}

WEFT_OS_CALL ssize_t try_socket_read(int fd, const iovec* into, std::size_t count) noexcept {
    return socket_receive_many(fd, into, count);
}

WEFT_OS_CALL ssize_t try_socket_write(int fd, const iovec* from, std::size_t count) noexcept {
    return socket_send_many(fd, from, count);
}

WEFT_OS_CALL bool is_terminal(int fd) noexcept {
    DWORD mode = 0;
    return GetConsoleMode(to_handle(fd), &mode) != 0;
}

int open_terminal_again(int /*fd*/, bool /*writes*/) noexcept { return -EOPNOTSUPP; }

WEFT_OS_CALL int make_blocking(int fd) noexcept {
    u_long off = 0;
    return ::ioctlsocket(to_socket(fd), static_cast<long>(FIONBIO), &off) == 0 ? 0 : -EOPNOTSUPP;
}

// The system does not say it of a socket, and files have no such mode.
bool is_nonblocking(int /*fd*/) noexcept { return false; }

// Sockets only.
WEFT_OS_CALL int can_be_polled(int fd) noexcept {
    int type = 0;
    return socket_option_of(fd, SOL_SOCKET, SO_TYPE, type) == 0 ? 1 : 0;
}

WEFT_OS_CALL int64_t file_seek(int fd, int64_t offset, seek_from from) noexcept {
    const DWORD method = from == seek_from::begin ? FILE_BEGIN : from == seek_from::current ? FILE_CURRENT : FILE_END;
    LARGE_INTEGER to;
    LARGE_INTEGER now;
    to.QuadPart = offset;
    if (GetFileType(to_handle(fd)) != FILE_TYPE_DISK) return -ESPIPE;
    return SetFilePointerEx(to_handle(fd), to, &now, method) != 0 ? now.QuadPart : -last_error_number();
}

WEFT_OS_CALL int file_truncate(int fd, int64_t size) noexcept {
    FILE_END_OF_FILE_INFO info{};
    info.EndOfFile.QuadPart = size;
    return outcome(SetFileInformationByHandle(to_handle(fd), FileEndOfFileInfo, &info, sizeof(info)));
}

WEFT_OS_CALL int file_status_of(int fd, file_status& s) noexcept {
    HANDLE file = to_handle(fd);
    s = {};
    const DWORD type = GetFileType(file);
    if (type == FILE_TYPE_CHAR || type == FILE_TYPE_PIPE) {
        s.kind = type == FILE_TYPE_CHAR   ? file_kind::character
                 : can_be_polled(fd) == 1 ? file_kind::socket
                                          : file_kind::fifo;
        return 0;
    }
    BY_HANDLE_FILE_INFORMATION info{};
    if (GetFileInformationByHandle(file, &info) == 0) return -last_error_number();
    FILE_ATTRIBUTE_TAG_INFO tag{};
    if (GetFileInformationByHandleEx(file, FileAttributeTagInfo, &tag, sizeof(tag)) == 0) tag.ReparseTag = 0;
    s.kind = kind_of_attributes(info.dwFileAttributes, tag.ReparseTag);
    constexpr uint32_t all_may_read_and_search = 0555;
    constexpr uint32_t all_may_write = 0222;
    constexpr uint32_t all_may_read = 0444;
    s.permissions = s.kind == file_kind::directory ? all_may_read_and_search : all_may_read;
    if ((info.dwFileAttributes & FILE_ATTRIBUTE_READONLY) == 0) s.permissions |= all_may_write;
    s.size = joined(info.nFileSizeHigh, info.nFileSizeLow);
    s.modified_ns = unix_ns(joined(info.ftLastWriteTime.dwHighDateTime, info.ftLastWriteTime.dwLowDateTime));
    s.device = info.dwVolumeSerialNumber;
    s.inode = static_cast<uint64_t>(joined(info.nFileIndexHigh, info.nFileIndexLow));
    s.links = info.nNumberOfLinks;
    return 0;
}

WEFT_OS_CALL int file_status_at(const char* path, bool follow, file_status& s) noexcept {
    const wide_path wide(path);
    if (wide.error() != 0) return wide.error();
    const DWORD flags = FILE_FLAG_BACKUP_SEMANTICS | (follow ? 0U : DWORD{FILE_FLAG_OPEN_REPARSE_POINT});
    HANDLE file = CreateFileW(wide.get(), FILE_READ_ATTRIBUTES, share_all, nullptr, OPEN_EXISTING, flags, nullptr);
    if (file == INVALID_HANDLE_VALUE) return -last_error_number();
    const int result = file_status_of(to_fd(file), s);
    CloseHandle(file);
    return result;
}

WEFT_OS_CALL int directory_read(int fd, void (*each)(void* closure, const char* name, file_kind kind), void* closure) {
    constexpr std::size_t buffer_size = 16 * 1024;
    alignas(FILE_ID_BOTH_DIR_INFO) char buffer[buffer_size];
    constexpr int name_max = 1024;  // 255 characters of the system take at most 765 bytes
    for (FILE_INFO_BY_HANDLE_CLASS part = FileIdBothDirectoryRestartInfo;; part = FileIdBothDirectoryInfo) {
        if (GetFileInformationByHandleEx(to_handle(fd), part, buffer, sizeof(buffer)) == 0) {
            const DWORD error = GetLastError();
            return error == ERROR_NO_MORE_FILES ? 0 : -error_number(error);
        }
        for (char* at = buffer;;) {
            const auto& entry = *reinterpret_cast<const FILE_ID_BOTH_DIR_INFO*>(at);
            char name[name_max];
            const int length = WideCharToMultiByte(CP_UTF8, 0, entry.FileName,
                                                   static_cast<int>(entry.FileNameLength / sizeof(wchar_t)), name,
                                                   name_max - 1, nullptr, nullptr);
            name[length] = '\0';
            if (std::strcmp(name, ".") != 0 && std::strcmp(name, "..") != 0)
                each(closure, name, kind_of_attributes(entry.FileAttributes, entry.EaSize));
            if (entry.NextEntryOffset == 0) break;
            at += entry.NextEntryOffset;
        }
    }
}

WEFT_OS_CALL int path_rename(const char* from, const char* to) noexcept {
    const wide_path wide_from(from);
    const wide_path wide_to(to);
    if (wide_from.error() != 0) return wide_from.error();
    if (wide_to.error() != 0) return wide_to.error();
    return outcome(MoveFileExW(wide_from.get(), wide_to.get(), MOVEFILE_REPLACE_EXISTING));
}

WEFT_OS_CALL int path_unlink(const char* path) noexcept {
    const wide_path wide(path);
    return wide.error() != 0 ? wide.error() : outcome(DeleteFileW(wide.get()));
}

// The permissions of the folder above apply.
WEFT_OS_CALL int path_make_directory(const char* path, uint32_t /*permissions*/) noexcept {
    const wide_path wide(path);
    return wide.error() != 0 ? wide.error() : outcome(CreateDirectoryW(wide.get(), nullptr));
}

WEFT_OS_CALL int path_remove_directory(const char* path) noexcept {
    const wide_path wide(path);
    return wide.error() != 0 ? wide.error() : outcome(RemoveDirectoryW(wide.get()));
}

}  // namespace weft::detail::os
