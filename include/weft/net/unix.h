// unix.h: sockets between processes of this machine: connections, listeners and datagrams.
//
//   weft::net::unix_listener listener("/run/weft/server");
//   for (;;) weft::go([conn = listener.accept()]() mutable { serve(conn); });
//
// Any process that may open the path may connect, so set the directory's permissions. Waiting,
// closing and errors are as for stream.h.
//
// See: docs/sockets.md
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <weft/detail/require.h>
#include <weft/net/stream.h>

namespace weft::net {

namespace detail {
struct socket_address;
}

/// The address of a Unix socket: a path, or a name that is not a file, which Linux calls abstract.
/// A value of 110 bytes.
class unix_address {
public:
    static constexpr std::size_t longest = 107;  ///< bytes of a path, or of an abstract name

    /// No address: that of an unbound socket.
    unix_address() noexcept = default;

    /// A path; "@name" is an abstract name. Throws std::invalid_argument if it is empty, too long,
    /// or contains a 0.
    explicit unix_address(std::string_view path);

    /// An abstract name of any bytes. Throws std::invalid_argument if it is too long.
    [[nodiscard]] static unix_address abstract_name(std::string_view name);

    [[nodiscard]] bool is_unnamed() const noexcept { return size_ == 0; }

    [[nodiscard]] bool is_abstract() const noexcept { return size_ != 0 && bytes_[0] == '\0'; }

    /// The path; empty if the address is not a path.
    [[nodiscard]] std::string_view path() const noexcept {
        return is_abstract() ? std::string_view() : std::string_view(bytes_.data(), size_);
    }

    /// The abstract name; empty if the address is not abstract.
    [[nodiscard]] std::string_view name() const noexcept {
        return is_abstract() ? std::string_view(bytes_.data() + 1, size_ - 1U) : std::string_view();
    }

    /// The text form: the path, "@name", or "unnamed".
    [[nodiscard]] std::string to_string() const;

    friend auto operator<=>(const unix_address&, const unix_address&) noexcept = default;

private:
    friend struct detail::socket_address;

    // A path without its terminating 0; an abstract name follows a 0. The system may report a path
    // that is one byte longer than it accepts.
    std::array<char, longest + 1> bytes_{};
    uint16_t size_ = 0;
};

/// The peer of a connection: the process that connected or listened, and its user.
struct peer_credentials {
    int64_t pid;
    uint32_t uid;
    uint32_t gid;
};

/// The result of receive_files().
struct received_files {
    std::size_t size;  ///< bytes
    bool cut;  ///< more descriptors came than there was room for, or than this process may open; the rest are closed
};

class unix_stream : public stream {
public:
    /// Not connected: every call fails with weft::errc::closed.
    unix_stream() noexcept = default;

    /// Connects. Waits while the listener's queue is full.
    [[nodiscard]] static unix_stream connect(const unix_address& to);
    [[nodiscard]] static unix_stream connect(const unix_address& to, std::error_code& ec);

    [[nodiscard]] static unix_stream connect(std::string_view path) { return connect(unix_address(path)); }

    /// Returns two streams that are connected to each other. Throws std::system_error.
    [[nodiscard]] static std::pair<unix_stream, unix_stream> pair();

    /// Takes ownership of a connected socket and makes it non-blocking. Throws std::system_error,
    /// with fd unchanged.
    [[nodiscard]] static unix_stream adopt(int fd);

    /// Sends b, at least a byte, and with its first byte copies of at most 253 open descriptors.
    /// Returns the number of bytes; the descriptors are sent if it is not 0.
    std::size_t send_files(const_buffer b, std::span<const int> files);

    /// As read_some(). Descriptors that arrive with the bytes are appended to files: open, not
    /// inheritable, for the caller to close; at most files_max, 253 at a time. If more arrive in
    /// one message, or this process may open no more (EMFILE), cut is set.
    received_files receive_files(mutable_buffer b, std::vector<int>& files, std::size_t files_max);

    [[nodiscard]] unix_address local_address() const;
    [[nodiscard]] unix_address remote_address() const;

    [[nodiscard]] peer_credentials credentials() const;

private:
    friend class unix_listener;

    explicit unix_stream(weft::detail::fd_handle handle) noexcept : stream(std::move(handle), true) {}
};

class unix_listener : public socket {
public:
    struct options {
        int backlog = 4096;           ///< connections that wait for accept(); the system has its own limit
        bool unlink_on_close = true;  ///< close() and the destructor remove the path, in the process that has bound it
        bool replace = false;         ///< first removes a socket at that path if nothing listens on it
    };

    unix_listener() noexcept = default;

    /// Binds and listens. Throws std::system_error, which names the path and a remedy.
    explicit unix_listener(const unix_address& at);
    unix_listener(const unix_address& at, options how);

    explicit unix_listener(std::string_view path) : unix_listener(unix_address(path)) {}

    unix_listener(std::string_view path, options how) : unix_listener(unix_address(path), how) {}

    unix_listener(unix_listener&& other) noexcept;
    unix_listener& operator=(unix_listener&& other) noexcept;

    ~unix_listener() { unlink(); }

    /// Takes ownership of a listening socket, e.g. from a service manager, and makes it
    /// non-blocking. Its path is kept. Throws std::system_error, with fd unchanged.
    [[nodiscard]] static unix_listener adopt(int fd);

    /// As tcp_listener::accept().
    [[nodiscard]] unix_stream accept();
    [[nodiscard]] unix_stream accept(std::error_code& ec);

    /// As socket::close(), but removes the path first.
    void close() noexcept;

    /// As socket::release(); the path is kept.
    [[nodiscard]] int release();

    [[nodiscard]] unix_address local_address() const;

private:
    void unlink() noexcept;

    // Identifies the bound file: another one may be at the path by now.
    struct file_id {
        uint64_t device = 0;
        uint64_t number = 0;

        friend bool operator==(const file_id&, const file_id&) = default;
    };

    static file_id file_at(const unix_address& at) noexcept;

    unix_address at_;
    file_id file_;
    int64_t owner_ = 0;                          // the process that has bound it
    weft::detail::atomic<bool> unlinks_{false};  // the path is still to be removed, once
};

class unix_datagram : public socket {
public:
    struct received {
        std::size_t size;   ///< bytes
        unix_address from;  ///< the sender
        bool cut;           ///< the datagram was longer than the buffer; the rest is lost
    };

    /// Not open: every call fails with weft::errc::closed.
    unix_datagram() noexcept = default;

    /// A socket that others can send to. Throws std::system_error. Closing it keeps the path.
    explicit unix_datagram(const unix_address& at);

    /// A socket that others cannot send to.
    [[nodiscard]] static unix_datagram unbound();

    /// Returns two sockets that are connected to each other.
    [[nodiscard]] static std::pair<unix_datagram, unix_datagram> pair();

    /// Makes to the target of send() and the only accepted sender. Does not wait.
    void connect(const unix_address& to);

    /// Sends b whole. Waits while the receiver's queue is full.
    void send(const_buffer b);
    void send(const_buffer b, std::error_code& ec);
    void send_to(const_buffer b, const unix_address& to);
    void send_to(const_buffer b, const unix_address& to, std::error_code& ec);

    /// Waits for a datagram, which may be empty.
    [[nodiscard]] received receive(mutable_buffer b);
    [[nodiscard]] received receive(mutable_buffer b, std::error_code& ec);

    [[nodiscard]] unix_address local_address() const;

private:
    explicit unix_datagram(weft::detail::fd_handle handle) noexcept : socket(std::move(handle)) {}
};

}  // namespace weft::net
