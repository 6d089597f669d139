// errors_windows.cc: see windows_errors.h.
//
// The C library msvcrt has no texts for the errors of networks, and messages of std::error_code
// come from its strerror(). So programs with weft get the one below, which knows more errors.
//
// Rejected: A category of our own: its codes would differ from those that std::make_error_code
// makes of the same std::errc.
#include <cerrno>
#include <cstdlib>

#include "os/windows_errors.h"

namespace weft::detail::os {

namespace {

struct meaning {
    DWORD error;
    int number;
};

constexpr meaning meanings[] = {
    {ERROR_FILE_NOT_FOUND, ENOENT},
    {ERROR_PATH_NOT_FOUND, ENOENT},
    {ERROR_INVALID_DRIVE, ENOENT},
    {ERROR_BAD_PATHNAME, ENOENT},
    {ERROR_INVALID_NAME, ENOENT},
    {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
    {ERROR_ACCESS_DENIED, EACCES},
    {ERROR_SHARING_VIOLATION, EACCES},
    {ERROR_LOCK_VIOLATION, EACCES},
    {ERROR_INVALID_HANDLE, EBADF},
    {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
    {ERROR_OUTOFMEMORY, ENOMEM},
    {ERROR_COMMITMENT_LIMIT, ENOMEM},
    {ERROR_NO_SYSTEM_RESOURCES, ENOMEM},
    {ERROR_FILE_EXISTS, EEXIST},
    {ERROR_ALREADY_EXISTS, EEXIST},
    {ERROR_INVALID_PARAMETER, EINVAL},
    {ERROR_NEGATIVE_SEEK, EINVAL},
    {ERROR_BROKEN_PIPE, EPIPE},
    {ERROR_NO_DATA, EPIPE},
    {ERROR_DISK_FULL, ENOSPC},
    {ERROR_HANDLE_DISK_FULL, ENOSPC},
    {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},
    {ERROR_DIRECTORY, ENOTDIR},
    {ERROR_NOT_SUPPORTED, EOPNOTSUPP},
    {ERROR_CALL_NOT_IMPLEMENTED, ENOSYS},
    {ERROR_WRITE_PROTECT, EROFS},
    {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
    {ERROR_PRIVILEGE_NOT_HELD, EPERM},
    {ERROR_NETNAME_DELETED, ECONNRESET},
    {ERROR_CONNECTION_REFUSED, ECONNREFUSED},
    {ERROR_BAD_EXE_FORMAT, ENOEXEC},
    {ERROR_EXE_MACHINE_TYPE_MISMATCH, ENOEXEC},
    {WSAEINTR, EINTR},
    {WSAEBADF, EBADF},
    {WSAEACCES, EACCES},
    {WSAEFAULT, EFAULT},
    {WSAEINVAL, EINVAL},
    {WSAEMFILE, EMFILE},
    {WSAEWOULDBLOCK, EAGAIN},
    {WSAEINPROGRESS, EINPROGRESS},
    {WSAEALREADY, EALREADY},
    {WSAENOTSOCK, ENOTSOCK},
    {WSAEDESTADDRREQ, EDESTADDRREQ},
    {WSAEMSGSIZE, EMSGSIZE},
    {WSAEPROTOTYPE, EPROTOTYPE},
    {WSAENOPROTOOPT, ENOPROTOOPT},
    {WSAEPROTONOSUPPORT, EPROTONOSUPPORT},
    {WSAESOCKTNOSUPPORT, EPROTONOSUPPORT},
    {WSAEOPNOTSUPP, EOPNOTSUPP},
    {WSAEPFNOSUPPORT, EAFNOSUPPORT},
    {WSAEAFNOSUPPORT, EAFNOSUPPORT},
    {WSAEADDRINUSE, EADDRINUSE},
    {WSAEADDRNOTAVAIL, EADDRNOTAVAIL},
    {WSAENETDOWN, ENETDOWN},
    {WSAENETUNREACH, ENETUNREACH},
    {WSAENETRESET, ENETRESET},
    {WSAECONNABORTED, ECONNABORTED},
    {WSAECONNRESET, ECONNRESET},
    {WSAENOBUFS, ENOBUFS},
    {WSAEISCONN, EISCONN},
    {WSAENOTCONN, ENOTCONN},
    {WSAESHUTDOWN, EPIPE},
    {WSAETIMEDOUT, ETIMEDOUT},
    {WSAECONNREFUSED, ECONNREFUSED},
    {WSAENAMETOOLONG, ENAMETOOLONG},
    {WSAEHOSTDOWN, EHOSTUNREACH},
    {WSAEHOSTUNREACH, EHOSTUNREACH},
    {ERROR_SEM_TIMEOUT, ETIMEDOUT},
};

}  // namespace

int error_number(DWORD error) noexcept {
    if (error == 0) return 0;
    for (const meaning& m : meanings) {
        if (m.error == error) return m.number;
    }
    return EIO;
}

}  // namespace weft::detail::os

// ---- Texts.

namespace weft::detail::os {

namespace {

struct description {
    int number;
    const char* text;
};

// As glibc describes them.
constexpr description descriptions[] = {
    {EADDRINUSE, "Address already in use"},
    {EADDRNOTAVAIL, "Cannot assign requested address"},
    {EAFNOSUPPORT, "Address family not supported by protocol"},
    {EALREADY, "Operation already in progress"},
    {EBADMSG, "Bad message"},
    {ECANCELED, "Operation canceled"},
    {ECONNABORTED, "Software caused connection abort"},
    {ECONNREFUSED, "Connection refused"},
    {ECONNRESET, "Connection reset by peer"},
    {EDESTADDRREQ, "Destination address required"},
    {EHOSTUNREACH, "No route to host"},
    {EIDRM, "Identifier removed"},
    {EINPROGRESS, "Operation now in progress"},
    {EISCONN, "Transport endpoint is already connected"},
    {ELOOP, "Too many levels of symbolic links"},
    {EMSGSIZE, "Message too long"},
    {ENETDOWN, "Network is down"},
    {ENETRESET, "Network dropped connection on reset"},
    {ENETUNREACH, "Network is unreachable"},
    {ENOBUFS, "No buffer space available"},
    {ENODATA, "No data available"},
    {ENOLINK, "Link has been severed"},
    {ENOMSG, "No message of desired type"},
    {ENOPROTOOPT, "Protocol not available"},
    {ENOSR, "Out of streams resources"},
    {ENOSTR, "Device not a stream"},
    {ENOTCONN, "Transport endpoint is not connected"},
    {ENOTRECOVERABLE, "State not recoverable"},
    {ENOTSOCK, "Socket operation on non-socket"},
    {ENOTSUP, "Operation not supported"},
    {EOPNOTSUPP, "Operation not supported"},
    {EOVERFLOW, "Value too large for defined data type"},
    {EOWNERDEAD, "Owner died"},
    {EPROTO, "Protocol error"},
    {EPROTONOSUPPORT, "Protocol not supported"},
    {EPROTOTYPE, "Protocol wrong type for socket"},
    {ETIME, "Timer expired"},
    {ETIMEDOUT, "Connection timed out"},
    {ETXTBSY, "Text file busy"},
    {EWOULDBLOCK, "Resource temporarily unavailable"},
};

const char* text_of(int number) noexcept {
    if (number >= 0 && number < _sys_nerr) return _sys_errlist[number];
    for (const description& d : descriptions) {
        if (d.number == number) return d.text;
    }
    return "Unknown error";
}

}  // namespace

}  // namespace weft::detail::os

// Any thread. The text is constant.
extern "C" char* strerror(int number) { return const_cast<char*>(weft::detail::os::text_of(number)); }
