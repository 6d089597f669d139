// every_wait_rows.cc: the rows of every_wait.h.
#include <fcntl.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX's
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <semaphore>
#include <shared_mutex>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <weft/fs.h>
#include <weft/net/resolve.h>
#include <weft/process.h>
#include <weft/rate_limiter.h>
#include <weft/signals.h>
#include <weft/weft.h>
#include <weft/weighted_semaphore.h>

#include "conformance/every_wait.h"
#include "net/lookup.h"
#include "support/connections.h"
#include "support/eventually.h"
#include "support/temp_folder.h"
#include "support/two_ends.h"
#include "support/units.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
namespace fs = weft::fs;

// A call, and the State that it uses, which each function is given.
template <typename State>
struct call_of {
    void (*wait)(State&) = nullptr;
    void (*close)(State&) = nullptr;
    void (*release)(State&) = nullptr;

    [[nodiscard]] blocking_call operator()() const {
        auto state = std::make_shared<State>();
        const auto bound = [&state](void (*f)(State&)) -> std::function<void()> {
            if (f == nullptr) return {};
            return [&s = *state, f] { f(s); };
        };
        return {bound(wait), bound(close), bound(release), state};
    }
};

// ---- What calls wait for.

struct nothing {};

struct full_chan {
    chan<int> c{1};

    full_chan() { c.send(0); }
};

struct kept_promise {
    promise<int> p;

    kept_promise() = default;

    ~kept_promise() { p.set_value(0); }

    kept_promise(const kept_promise&) = delete;
    kept_promise& operator=(const kept_promise&) = delete;
};

// Another thread holds something, until release() or the destructor.
class held_by_another {
public:
    template <typename Hold>
    explicit held_by_another(Hold hold)
        : thread_([this, hold] { hold([this] { held_.release(), over_.acquire(); }); }) {
        held_.acquire();
    }

    void release() {
        over_.release();
        thread_.join();
    }

    ~held_by_another() {
        if (thread_.joinable()) release();
    }

    held_by_another(const held_by_another&) = delete;
    held_by_another& operator=(const held_by_another&) = delete;

private:
    std::binary_semaphore held_{0};
    std::binary_semaphore over_{0};
    std::thread thread_;
};

template <typename Lock>
struct locked {
    Lock lock;
    bool is_locked = true;

    locked() { lock.lock(); }

    void release() {
        if (is_locked) lock.unlock();
        is_locked = false;
    }

    ~locked() { release(); }

    locked(const locked&) = delete;
    locked& operator=(const locked&) = delete;
};

struct once_under_way {
    once_flag flag;
    held_by_another other{[this](auto wait) { call_once(flag, wait); }};
};

struct full_pool {
    blocking_pool pool{"test", 1};
    held_by_another other{[this](auto wait) { pool.run(wait); }};
};

struct gate {
    std::binary_semaphore open{0};
};

struct busy_runtime {
    chan<int> end;
    runtime rt{{.procs = 1}};

    busy_runtime() {
        rt.go([this] { end.recv(); });
    }
};

template <typename Over>
struct silent_listener {
    typename Over::listener listener = Over::listen(0);
    std::vector<typename Over::stream> fill;

    // Fills the listener's queue.
    silent_listener() {
        std::error_code ec;
        for (int i = 0; i < 8 && !ec; ++i) with_timeout(20ms, [&] { fill.push_back(Over::connect(listener, ec)); });
    }
};

template <typename Over>
struct connected : connection<Over> {
    const std::string much = std::string(16 * mib, 'x');

    connected() : connection<Over>(Over{}) {}
};

template <typename Over>
struct accepting {
    typename Over::listener listener = Over::listen();
};

struct udp_alone {
    net::udp_socket socket{net::endpoint::loopback(0)};
};

struct datagrams {
    std::pair<net::unix_datagram, net::unix_datagram> ends = net::unix_datagram::pair();
};

struct piped {
    pipe_ends ends = make_pipe();
    const std::string much = std::string(mib, 'x');

    void fill() {
        std::error_code ec;
        with_timeout(0s, [&] {
            while (!ec) static_cast<void>(ends.writer.write_some(much, ec));
        });
    }
};

struct full_pipe : piped {
    full_pipe() { fill(); }
};

struct sleeping {
    process p{{"sleep", "1000"}};

    ~sleeping() {
        p.kill(SIGKILL);
        p.wait();
    }

    sleeping() = default;
    sleeping(const sleeping&) = delete;
    sleeping& operator=(const sleeping&) = delete;
};

struct subscribed {
    signals::subscription s = signals::notify({SIGUSR2});
};

// A FIFO. The test holds both of its ends open, so opening either end does not wait.
struct fifo {
    temp_folder folder;
    const std::string path = folder / "fifo";
    int both_ends = -1;
    const std::string much = std::string(mib, 'x');

    fifo() {
        EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
        both_ends = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
        EXPECT_GE(both_ends, 0);
    }

    ~fifo() { ::close(both_ends); }

    fifo(const fifo&) = delete;
    fifo& operator=(const fifo&) = delete;
};

struct fifo_alone {
    temp_folder folder;
    const std::string path = folder / "fifo";

    fifo_alone() { EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0); }
};

struct fifo_opened : fifo {
    fs::file to_read{path};
    fs::file to_write{path, {.mode = fs::access::write}};
};

// In blocking mode, as other programs leave them.
struct fifo_adopted : fifo {
    fs::file to_read = fs::file::adopt(::open(path.c_str(), O_RDONLY | O_CLOEXEC), path);
    fs::file to_write = fs::file::adopt(::open(path.c_str(), O_WRONLY | O_CLOEXEC), path);
};

struct terminal_adopted {
    two_ends ends = two_ends::of_terminal();
    fs::file f = fs::file::adopt(::dup(ends.read_end()), "terminal");
};

struct socket_adopted {
    int fds[2] = {-1, -1};
    fs::file f;
    const std::string much = std::string(mib, 'x');

    socket_adopted() {
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        f = fs::file::adopt(fds[0], "socket");
    }

    ~socket_adopted() { ::close(fds[1]); }

    socket_adopted(const socket_adopted&) = delete;
    socket_adopted& operator=(const socket_adopted&) = delete;
};

// ---- The calls.

template <typename S>
auto read_from(S& s) {
    char b[8];
    return s.read(b);
}

template <typename Over>
void add_streams(
    std::vector<blocking_row>& rows, const char* read, const char* write, const char* accept, const char* connect) {
    using stream = connected<Over>;
    rows.push_back({read, call_of<stream>{[](stream& s) { static_cast<void>(read_from(s.near)); },
                                          [](stream& s) { s.near.close(); }}});
    rows.push_back(
        {write, call_of<stream>{[](stream& s) { s.near.write_all(s.much); }, [](stream& s) { s.near.close(); }}});
    using listening = accepting<Over>;
    rows.push_back({accept, call_of<listening>{[](listening& s) { static_cast<void>(s.listener.accept()); },
                                               [](listening& s) { s.listener.close(); }}});
    using silent = silent_listener<Over>;
    rows.push_back({connect, call_of<silent>{[](silent& s) { static_cast<void>(Over::connect(s.listener)); }}});
}

std::vector<blocking_row> rows_of_channels() {
    using channel = chan<int>;
    const auto close = [](channel& c) { c.close(); };
    return {
        {"chan::recv", call_of<channel>{[](channel& c) { c.recv(); }, close}, true, call_end::returned},
        {"chan::send", call_of<full_chan>{[](full_chan& s) { s.c.send(1); }, [](full_chan& s) { s.c.close(); }}},
        {"range-for",
         call_of<channel>{[](channel& c) {
                              for (const int v : c) static_cast<void>(v);
                          },
                          close},
         true, call_end::returned},
        {"select",
         call_of<channel>{[](channel& c) { static_cast<void>(select(recv_case(c), timeout_case(1h))); }, close}, true,
         call_end::returned},
        {"select_set::wait",
         call_of<channel>{[](channel& c) {
                              select_set set;
                              set.add_recv(c, [](auto) {});
                              set.wait();
                          },
                          close},
         true, call_end::returned},
        {"the channel of a timer", call_of<nothing>{[](nothing&) { after(1h).recv(); }}},
        {"signals::subscription::recv",
         call_of<subscribed>{[](subscribed& s) { static_cast<void>(s.s.recv()); }, [](subscribed& s) { s.s.stop(); }},
         true, call_end::returned},
    };
}

std::vector<blocking_row> rows_of_primitives() {
    return {
        {"sleep_for", call_of<nothing>{[](nothing&) { sleep_for(1h); }}},
        {"event::wait", call_of<event>{[](event& e) { e.wait(); }}},
        {"counting_semaphore::acquire", call_of<nothing>{[](nothing&) {
             counting_semaphore<> s(0);
             s.acquire();
         }}},
        {"weighted_semaphore::acquire", call_of<nothing>{[](nothing&) {
             weighted_semaphore s(1);
             s.acquire();
             s.acquire();
         }}},
        {"rate_limiter::acquire", call_of<nothing>{[](nothing&) {
             rate_limiter daily({.tokens = 1, .per = 24h});
             daily.acquire();
             daily.acquire();
         }}},
        {"condition_variable::wait", call_of<nothing>{[](nothing&) {
             mutex m;
             condition_variable changed;
             std::unique_lock hold(m);
             changed.wait(hold, [] { return false; });
         }}},
        {"future::get", call_of<kept_promise>{[](kept_promise& s) { s.p.get_future().get(); }}},
        {"latch::wait_for", call_of<nothing>{[](nothing&) {
             const latch l(1);
             static_cast<void>(l.wait_for(1h));
         }}},
        {"timed_mutex::try_lock_for",
         call_of<locked<timed_mutex>>{[](locked<timed_mutex>& s) { static_cast<void>(s.lock.try_lock_for(1h)); }}},
        {"shared_timed_mutex::try_lock_for", call_of<locked<shared_timed_mutex>>{[](locked<shared_timed_mutex>& s) {
             static_cast<void>(s.lock.try_lock_for(1h));
         }}},
        {"shared_timed_mutex::try_lock_shared_for",
         call_of<locked<shared_timed_mutex>>{
             [](locked<shared_timed_mutex>& s) { static_cast<void>(s.lock.try_lock_shared_for(1h)); }}},
        {"blocking_pool::run, for a place", call_of<full_pool>{[](full_pool& s) { s.pool.run([] {}); }}},
    };
}

// Not interrupted: locking, joining, and calls that have started on an OS thread.
std::vector<blocking_row> rows_of_locks_and_joins() {
    using of_mutex = locked<mutex>;
    using of_shared = locked<shared_mutex>;
    using of_recursive = locked<recursive_mutex>;
    const auto with = [](const char* name, blocking_call (*make)()) { return blocking_row{name, make, false}; };
    std::vector<blocking_row> all = {
        with("mutex::lock",
             [] {
                 return call_of<of_mutex>{[](of_mutex& s) { const std::scoped_lock held(s.lock); }, nullptr,
                                          [](of_mutex& s) { s.release(); }}();
             }),
        with("shared_mutex::lock",
             [] {
                 return call_of<of_shared>{[](of_shared& s) { const std::scoped_lock held(s.lock); }, nullptr,
                                           [](of_shared& s) { s.release(); }}();
             }),
        with("shared_mutex::lock_shared",
             [] {
                 return call_of<of_shared>{[](of_shared& s) { const std::shared_lock held(s.lock); }, nullptr,
                                           [](of_shared& s) { s.release(); }}();
             }),
        with("recursive_mutex::lock",
             [] {
                 return call_of<of_recursive>{[](of_recursive& s) { const std::scoped_lock held(s.lock); }, nullptr,
                                              [](of_recursive& s) { s.release(); }}();
             }),
        with("call_once",
             [] {
                 return call_of<once_under_way>{[](once_under_way& s) { call_once(s.flag, [] {}); }, nullptr,
                                                [](once_under_way& s) { s.other.release(); }}();
             }),
        with("wait_group::wait",
             [] {
                 blocking_call c =
                     call_of<wait_group>{[](wait_group& w) { w.wait(); }, nullptr, [](wait_group& w) { w.done(); }}();
                 static_cast<wait_group*>(c.state.get())->add();
                 return c;
             }),
        with("latch::wait",
             [] {
                 const auto l = std::make_shared<latch>(1);
                 return blocking_call{[l] { l->wait(); }, {}, [l] { l->count_down(); }, l};
             }),
        with("barrier::arrive_and_wait",
             [] {
                 const auto b = std::make_shared<barrier<>>(2);
                 return blocking_call{[b] { b->arrive_and_wait(); }, {}, [b] { static_cast<void>(b->arrive()); }, b};
             }),
        with("the end of a scope",
             [] {
                 using channel = chan<int>;
                 return call_of<channel>{
                     [](channel& c) { scope([&](task_scope& s) { s.go([&] { shield([&] { c.recv(); }); }); }); },
                     nullptr, [](channel& c) { c.close(); }}();
             }),
        with("runtime::run",
             [] {
                 using channel = chan<int>;
                 return call_of<channel>{[](channel& c) {
                                             runtime other({.procs = 1});
                                             other.run([&] { c.recv(); });
                                         },
                                         nullptr, [](channel& c) { c.close(); }}();
             }),
        with("runtime::drain",
             [] {
                 return call_of<busy_runtime>{[](busy_runtime& s) { s.rt.drain(); }, nullptr,
                                              [](busy_runtime& s) { s.end.close(); }}();
             }),
    };
    blocking_row on_thread = with("blocking", [] {
        return call_of<gate>{[](gate& g) { blocking([&] { g.open.acquire(); }); }, nullptr,
                             [](gate& g) { g.open.release(); }}();
    });
    on_thread.on_os_thread = true;
    all.push_back(on_thread);
    return all;
}

std::vector<blocking_row> rows_of_sockets() {
    std::vector<blocking_row> all;
    add_streams<over_tcp>(all, "tcp_stream::read", "tcp_stream::write_all", "tcp_listener::accept",
                          "tcp_stream::connect");
    add_streams<over_unix>(all, "unix_stream::read", "unix_stream::write_all", "unix_listener::accept",
                           "unix_stream::connect");
    all.push_back({"udp_socket::receive", call_of<udp_alone>{[](udp_alone& s) {
                                                                 char b[8];
                                                                 static_cast<void>(s.socket.receive(b));
                                                             },
                                                             [](udp_alone& s) { s.socket.close(); }}});
    all.push_back({"unix_datagram::receive", call_of<datagrams>{[](datagrams& s) {
                                                                    char b[8];
                                                                    static_cast<void>(s.ends.first.receive(b));
                                                                },
                                                                [](datagrams& s) { s.ends.first.close(); }}});
    all.push_back({"unix_datagram::send", call_of<datagrams>{[](datagrams& s) {
                                                                 for (;;) s.ends.first.send("x");
                                                             },
                                                             [](datagrams& s) { s.ends.first.close(); }}});
    all.push_back({"resolve", call_of<nothing>{[](nothing&) { static_cast<void>(net::resolve("silent.test:80")); }}});
    all.push_back(
        {"dial, for a name", call_of<nothing>{[](nothing&) { static_cast<void>(net::dial("silent.test:80")); }}});
    using silent = silent_listener<over_tcp>;
    all.push_back({"dial, for an answer", call_of<silent>{[](silent& s) {
                       std::error_code ec;
                       const std::vector<net::endpoint> twice(2, s.listener.local_endpoint());
                       const net::tcp_stream c = net::dial(twice, ec);
                       throw_if_cancelled();
                   }}});
    return all;
}

std::vector<blocking_row> rows_of_descriptors() {
    using piping = piped;
    using full = full_pipe;
    return {
        {"pipe_reader::read", call_of<piping>{[](piping& s) { static_cast<void>(read_from(s.ends.reader)); },
                                              [](piping& s) { s.ends.reader.close(); }}},
        {"pipe_writer::write_all",
         call_of<piping>{[](piping& s) { s.ends.writer.write_all(s.much); }, [](piping& s) { s.ends.writer.close(); }}},
        {"wait_fd, readable",
         call_of<piping>{[](piping& s) { wait_fd(s.ends.reader.native_handle(), fd_events::readable); },
                         [](piping& s) { s.ends.reader.close(); }}},
        {"wait_fd, writable",
         call_of<full>{[](full& s) { wait_fd(s.ends.writer.native_handle(), fd_events::writable); },
                       [](full& s) { s.ends.writer.close(); }}},
        {"wait_fd, either", call_of<full>{[](full& s) { wait_fd(s.ends.writer.native_handle(), fd_events::either); },
                                          [](full& s) { s.ends.writer.close(); }}},
        {"select of a descriptor", call_of<piping>{[](piping& s) {
                                                       const watched_fd fd(s.ends.reader.native_handle());
                                                       select(on_readable(fd, [] {}), on_timeout(1h, [] {}));
                                                   },
                                                   [](piping& s) { s.ends.reader.close(); }}},
        {"process::wait", call_of<sleeping>{[](sleeping& s) { s.p.wait(); }, nullptr}},
        {"run_process", call_of<nothing>{[](nothing&) { static_cast<void>(run_process({"sleep", "1000"})); }}},
    };
}

std::vector<blocking_row> rows_of_files() {
    using opened = fifo_opened;
    using adopted = fifo_adopted;
    using terminal = terminal_adopted;
    using socket = socket_adopted;
    return {
        {"file::read of a FIFO", call_of<opened>{[](opened& s) { static_cast<void>(read_from(s.to_read)); },
                                                 [](opened& s) { s.to_read.close(); }}},
        {"file::write_all to a FIFO",
         call_of<opened>{[](opened& s) { s.to_write.write_all(s.much); }, [](opened& s) { s.to_write.close(); }}},
        {"file::read of a FIFO without writers", call_of<fifo_alone>{[](fifo_alone& s) {
             fs::file f(s.path);
             static_cast<void>(read_from(f));
         }}},
        {"file::file, to write to a FIFO without readers",
         call_of<fifo_alone>{[](fifo_alone& s) { const fs::file f(s.path, {.mode = fs::access::write}); }}},
        {"read_file of a FIFO", call_of<fifo>{[](fifo& s) { static_cast<void>(fs::read_file(s.path)); }}},
        {"write_file to a FIFO", call_of<fifo>{[](fifo& s) { fs::write_file(s.path, s.much); }}},
        {"file::read of a FIFO that is blocking",
         call_of<adopted>{[](adopted& s) { static_cast<void>(read_from(s.to_read)); },
                          [](adopted& s) { s.to_read.close(); }}},
        {"file::write_all to a FIFO that is blocking",
         call_of<adopted>{[](adopted& s) { s.to_write.write_all(s.much); }, [](adopted& s) { s.to_write.close(); }}},
        {"file::read of a terminal",
         call_of<terminal>{[](terminal& s) { static_cast<void>(read_from(s.f)); }, [](terminal& s) { s.f.close(); }}},
        {"file::read of a socket",
         call_of<socket>{[](socket& s) { static_cast<void>(read_from(s.f)); }, [](socket& s) { s.f.close(); }}},
        {"file::write_all to a socket",
         call_of<socket>{[](socket& s) { s.f.write_all(s.much); }, [](socket& s) { s.f.close(); }}},
    };
}

std::atomic<int> at_the_server = 0;
std::atomic<bool> server_open = false;

net::detail::lookup_result ask_in_vain(const std::string& /*host*/, std::optional<net::endpoint::ip> /*only*/) {
    ++at_the_server;
    server_open.wait(false);
    --at_the_server;
    return {{}, net::resolve_errc::try_again};
}

}  // namespace

const std::vector<blocking_row>& blocking_rows() {
    static const std::vector<blocking_row> all = [] {
        std::vector<blocking_row> rows;
        for (auto* part : {&rows_of_channels, &rows_of_primitives, &rows_of_locks_and_joins, &rows_of_sockets,
                           &rows_of_descriptors, &rows_of_files}) {
            for (blocking_row& row : part()) rows.push_back(std::move(row));
        }
        return rows;
    }();
    return all;
}

void close_name_server() {
    server_open = false;
    net::detail::set_lookup_function(&ask_in_vain);
}

void open_name_server() {
    server_open = true;
    server_open.notify_all();
    eventually([] { return at_the_server == 0; });
    net::detail::set_lookup_function(nullptr);
}

}  // namespace weft::test
