// service.cc: see service.h.
#include "fuzz/http/service.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include <weft/http/files.h>
#include <weft/http/server.h>
#include <weft/net/tcp.h>
#include <weft/runtime.h>
#include <weft/time.h>
#include <weft/wait_group.h>

#include "examples/http_server/access_log.h"
#include "examples/http_server/site.h"
#include "fuzz/check.h"
#include "fuzz/http/allocations.h"

namespace fuzz::http {

namespace {

namespace fs = std::filesystem;

// For one connection: the contents of its buffers, twice while they grow, and an answer.
constexpr std::size_t most_allocated = std::size_t{512} * 1024;

const std::map<std::string, std::string, std::less<>>& files() {
    static const std::map<std::string, std::string, std::less<>> all = [] {
        std::map<std::string, std::string, std::less<>> made{
            {"index.html", "<p>home</p>"}, {"a.txt", "0123456789"},    {"empty", ""},      {"sub/index.html", "below"},
            {"sub/b c.json", "{}"},        {".well-known/x", "known"}, {"inside", "below"}};
        for (int i = 0; i < 10'000; ++i) made["large"] += std::to_string(i);  // more than is copied
        return made;
    }();
    return all;
}

// The served folder. It is removed when the process ends.
class folder {
public:
    folder() : outside_(fs::temp_directory_path() / ("weft_fuzz_" + std::to_string(::getpid()))) {
        fs::remove_all(outside_);
        fs::create_directories(root() / "sub" / "empty");
        fs::create_directories(root() / ".well-known");
        for (const auto& [name, content] : files()) {
            if (name != "inside") write(root() / name, content);
        }
        fs::create_symlink("sub/index.html", root() / "inside");
        for (const char* hidden : {".hidden", "sub/.hidden"}) write(root() / hidden, std::string(secret));
        write(outside_ / "s", std::string(secret));
        fs::create_symlink("../s", root() / "o");
        fs::create_symlink(outside_ / "s", root() / "absolute");
        fs::create_symlink("..", root() / "up");
        fs::create_symlink("circle", root() / "circle");
    }

    ~folder() {
        std::error_code ec;
        fs::remove_all(outside_, ec);
    }

    [[nodiscard]] fs::path root() const { return outside_ / "root"; }

private:
    static void write(const fs::path& to, const std::string& content) {
        std::ofstream(to, std::ios::binary) << content;
    }

    fs::path outside_;
};

weft::runtime_options one_processor() {
    weft::runtime_options o;
    o.procs = 1;  // one order of events
    return o;
}

// What all connections of the process share.
class service {
public:
    service() : log_file_(::memfd_create("log", MFD_CLOEXEC)), runtime_(one_processor()) {
        runtime_.run([this] {
            log_ = std::make_unique<http_server::access_log>("/proc/self/fd/" + std::to_string(log_file_));
            server_ = std::make_unique<weft::http::server>(options());
            http_server::add_site(*server_, root_, log_->lines_lost());
        });
    }

    ~service() {
        runtime_.run([this] {
            server_.reset();
            log_.reset();
        });
        ::close(log_file_);
    }

    [[nodiscard]] weft::runtime& runtime() { return runtime_; }

    // Serves one connection, in a green thread.
    void serve(int socket) { server_->serve_connection(weft::net::tcp_stream::adopt(socket), "127.0.0.1:1"); }

    // Returns one line for each answer since the last call.
    std::vector<log_line> take_log() {
        uint64_t answers = 0;
        for (const uint64_t n : server_->stats().responses) answers += n;
        const uint64_t wanted = answers - lines_seen_;
        lines_seen_ = answers;
        std::string text;
        while (static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n')) < wanted) {
            weft::sleep_for(std::chrono::microseconds(1));
            text.resize(static_cast<std::size_t>(::lseek(log_file_, 0, SEEK_END)));
            check(::pread(log_file_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()),
                  "the log can be read", text);
        }
        check(::ftruncate(log_file_, 0) == 0, "the log can be emptied", text);
        return parsed(text);
    }

private:
    weft::http::server_options options() {
        constexpr unsigned without_answer = 499;
        weft::http::server_options how;
        how.header_max = allowed.header_bytes;
        how.body_max = allowed.body_bytes;
        how.write_time = write_time;
        how.cancel_if_client_gone = false;  // the client ends its side, and wants its answers
        how.access_log = [this](const weft::http::access_entry& entry) {
            if (entry.status != without_answer) log_->line(entry);
        };
        return how;
    }

    static std::vector<log_line> parsed(const std::string& text) {
        std::vector<log_line> lines;
        for (std::size_t begin = 0; begin < text.size();) {
            const std::size_t end = text.find('\n', begin);
            check(end != std::string::npos, "the log consists of lines", text);
            const std::string line = text.substr(begin, end - begin);
            begin = end + 1;
            // CLIENT - - [DATE] "REQUEST" STATUS BYTES
            const std::size_t open = line.find('"');
            const std::size_t close = line.rfind('"');
            check(
                open != std::string::npos && line.find('"', open + 1) == close && line.compare(open - 2, 2, "] ") == 0,
                "a line of the log has one request in quotes", line);
            check(std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c <= '~'; }),
                  "a line of the log is printable", line);
            log_line l;
            l.request = line.substr(open + 1, close - open - 1);
            int used = 0;
            check(std::sscanf(line.c_str() + close, "\" %3u %zu%n", &l.status, &l.body_bytes, &used) == 2 &&
                      close + static_cast<std::size_t>(used) == line.size(),
                  "a line of the log ends with a status and a size", line);
            lines.push_back(std::move(l));
        }
        return lines;
    }

    const folder folder_;
    const int log_file_;
    const weft::http::files root_{folder_.root().string()};
    uint64_t lines_seen_ = 0;
    weft::runtime runtime_;
    std::unique_ptr<http_server::access_log> log_;
    std::unique_ptr<weft::http::server> server_;
};

service& the_service() {
    static service one;
    return one;
}

// How many descriptors are open.
std::size_t open_files() {
    std::size_t count = 0;
    for (const auto& one : fs::directory_iterator("/proc/self/fd")) count += one.path().empty() ? 0 : 1;
    return count;
}

// After a connection the count is that after the first one, plus a few that the runtime may need
// for itself, or for a moment. If each connection leaked one, the limit would soon be exceeded.
void check_open_files(std::string_view about) {
    constexpr std::size_t of_the_runtime = 8;
    constexpr int patience = 10'000;
    static const std::size_t at_rest = open_files() + of_the_runtime;
    for (int i = 0; i < patience && open_files() > at_rest; ++i) weft::sleep_for(std::chrono::milliseconds(1));
    check(open_files() <= at_rest, "no connection leaves a file open", about);
}

// Both ends of a TCP connection on this machine.
struct pair_of_sockets {
    int client;
    int server;
};

pair_of_sockets connected() {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    static const int listener = [&] {
        const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        check(::bind(made, reinterpret_cast<sockaddr*>(&at), sizeof(at)) == 0 && ::listen(made, 1) == 0,
              "one can listen", {});
        return made;
    }();
    socklen_t size = sizeof(at);
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size);
    const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(::connect(client, reinterpret_cast<sockaddr*>(&at), sizeof(at)) == 0 || errno == EINTR,
          "one can connect to this machine", {});
    const int server = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    const int on = 1;
    for (const int end : {client, server}) ::setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return {client, server};
}

// A green thread of the same runtime. So a connection takes no switch of OS threads, whatever the
// number of pieces.
class client {
public:
    client(const pair_of_sockets& ends, const std::atomic<bool>& done)
        : stream_(weft::net::tcp_stream::adopt(ends.client)), socket_(ends.client), server_(ends.server), done_(done) {}

    // Sends all of the piece, or less if the server has closed.
    void send(std::string_view piece) {
        while (!piece.empty()) {
            const ssize_t n = ::send(socket_, piece.data(), piece.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n >= 0) {
                piece.remove_prefix(static_cast<std::size_t>(n));
            } else if (errno == EAGAIN) {
                let_it_read();
            } else {
                return;
            }
        }
    }

    void wait_until_read() {
        for (int unread = 1; unread != 0 && !done_.load();) {
            let_it_read();
            if (::ioctl(server_, FIONREAD, &unread) != 0) return;  // it has closed
        }
    }

    void end_sending() { ::shutdown(socket_, SHUT_WR); }

    std::string read_to_the_end() {
        std::array<char, 16384> piece;
        std::error_code ec;
        while (const std::size_t n = stream_.read_some(piece, ec)) answers_.append(piece.data(), n);
        return std::move(answers_);
    }

private:
    // Reads answers until the server has read everything: it may want to write before it reads.
    void let_it_read() {
        std::array<char, 16384> piece;
        for (ssize_t n = 1; n > 0;) {
            n = ::recv(socket_, piece.data(), piece.size(), MSG_DONTWAIT);
            if (n > 0) answers_.append(piece.data(), static_cast<std::size_t>(n));
        }
        weft::sleep_for(std::chrono::microseconds(1));  // no other green thread runs, so the runtime polls the sockets
    }

    weft::net::tcp_stream stream_;
    const int socket_;
    const int server_;
    const std::atomic<bool>& done_;
    std::string answers_;
};

// Called in a green thread.
talk talk_of(service& server, std::span<const std::string_view> pieces, std::size_t& most_allocated_now) {
    const pair_of_sockets ends = connected();
    talk t;
    {
        std::atomic<bool> done{false};
        client c(ends, done);
        const bool at_once = pieces.size() <= 1;
        if (at_once) {
            for (const std::string_view piece : pieces) c.send(piece);
            c.end_sending();
        }
        const watch_on_allocations watch;
        weft::wait_group served;
        served.go([&] {
            server.serve(ends.server);
            done.store(true);
        });
        if (!at_once) {
            for (const std::string_view piece : pieces) {
                c.send(piece);
                c.wait_until_read();
            }
            c.end_sending();
        }
        t.answers = c.read_to_the_end();
        served.wait();
        most_allocated_now = watch.most();
        t.log = server.take_log();
    }
    check_open_files(pieces.empty() ? std::string_view() : pieces.front());
    return t;
}

}  // namespace

talk talk_with_server(std::span<const std::string_view> pieces) {
    service& server = the_service();
    std::size_t allocated = 0;
    talk t = server.runtime().run([&] { return talk_of(server, pieces, allocated); });
    const std::string_view first = pieces.empty() ? std::string_view() : pieces.front();
    check(allocated <= most_allocated + 2 * t.answers.capacity(), "a connection needs little memory", first);
    return t;
}

const std::string* file_at(std::string_view relative) {
    const auto found = files().find(relative);
    return found == files().end() ? nullptr : &found->second;
}

bool is_folder(std::string_view relative) {
    return relative.empty() || relative == "sub" || relative == "sub/empty" || relative == ".well-known";
}

const std::string* file_with(std::string_view content) {
    for (const auto& [name, text] : files()) {
        if (text == content) return &text;
    }
    return nullptr;
}

}  // namespace fuzz::http
