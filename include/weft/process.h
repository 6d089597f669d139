// process.h: starts other programs, communicates with them and waits for them.
//
//     weft::process sort({"sort", "-n"}, {.in = weft::stdio::pipe, .out = weft::stdio::pipe});
//     sort.in().write_all("3\n1\n2\n");
//     sort.in().close();
//     std::string text(100, ' ');
//     text.resize(sort.out().read(text));
//     weft::exit_status how = sort.wait();
//
//     weft::process_output date = weft::run_process({"date", "-u"});
//
// Starting makes a system call that lasts until the program has begun, about a millisecond; the P
// is handed off for it. Waiting parks: the process's descriptor (pidfd) is in the poller, and its
// end is an event like others. So no thread and no SIGCHLD handler is needed, and a signal never
// reaches another process that has got the same number.
//
// The program starts as from a shell: no signal is blocked, all have their default actions. It
// inherits only descriptors 0, 1 and 2, those of process_options::descriptors, and those that this
// program has made inheritable.
//
// Destroying or assigning to a process object leaves its program running and closes the pipes; the
// library prevents a zombie. To end a program, call kill(), or kill_group() to include what it has
// started; then wait(). (A destructor that killed would lose the work of a program meant to outlive
// its starter, such as a daemon. One that waited might wait for ever.)
//
// Other parts of this program may handle SIGCHLD. If one waits for any child, or the signal is
// ignored, the system may forget the exit status before it is read. Linux 6.15 and later report it
// even then, however soon the program has ended. On older systems wait() fails with
// std::errc::no_child_process.
//
// On Windows a signal ends a program at once: SIGINT, SIGTERM, or 9, the number of SIGKILL. Others
// are std::errc::operation_not_supported. A process group is a job of the system, and a program in
// one of its own does not receive Ctrl-C. PATH is separated by semicolons, and ".exe" may be left
// out. Scripts (.bat, .cmd) are refused: start their interpreter. Bytes that are still in a pipe to
// the program are lost when this process ends.
//
// Each call that may fail has two forms: one throws std::system_error, the other fills a
// std::error_code.
//
// Threads: any thread. Several threads may wait for one process at a time, and kill it. Moving,
//          assigning and destroying require that no other thread uses the object.
// See: docs/processes.md
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <weft/detail/require.h>
#include <weft/detail/time_point.h>
#include <weft/net/buffer.h>
#include <weft/pipe.h>

namespace weft {

/// What a standard descriptor of the program is connected to.
enum class stdio : uint8_t {
    inherit,  ///< that of this process
    null,     ///< reads return the end, writes are discarded
    pipe,     ///< a pipe, whose other end the process object has
};

/// The process group of the program. Programs that it starts are in the same group, unless they
/// leave it.
enum class process_group : uint8_t {
    inherit,  ///< that of this process
    /// A new group, led by the program. process::kill_group() reaches all of it; terminal keys such
    /// as Ctrl-C do not.
    own,
    own_session,  ///< a new session and group, without a controlling terminal
};

/// A descriptor of this process that the program gets under another number.
struct passed_descriptor {
    int fd = -1;      ///< of this process; only needed until the constructor returns
    int number = -1;  ///< in the program, from 3 on; each once
};

enum class resource : uint8_t {
    address_space,  ///< in bytes
    core_size,      ///< of a core file, in bytes; 0: none
    cpu_time,       ///< in seconds
    data_size,      ///< in bytes
    file_size,      ///< of files that it writes, in bytes
    locked_memory,  ///< in bytes
    open_files,     ///< the number of descriptors
    processes,      ///< of its user
    stack_size,     ///< in bytes
};

/// Of the program and of those that it starts. See setrlimit(2).
struct resource_limit {
    static constexpr uint64_t unlimited = (std::numeric_limits<uint64_t>::max)();

    resource what = resource::address_space;
    uint64_t soft = unlimited;  ///< what counts; the program may raise it up to hard
    uint64_t hard = unlimited;
};

/// Whose rights the program has.
struct program_user {
    uint32_t user = 0;
    uint32_t group = 0;
    std::vector<uint32_t> further_groups = {};  ///< all others; those of this process do not count
};

struct process_options {
    stdio in = stdio::inherit;
    stdio out = stdio::inherit;
    stdio err = stdio::inherit;
    /// Working directory; empty: that of this process. A command with a slash is resolved relative
    /// to it.
    std::string directory = {};
    /// All variables, as "NAME=value"; nullopt: those of this process.
    std::optional<std::vector<std::string>> environment = {};
    /// nullopt: inherit for a process object, own for run_process().
    std::optional<process_group> group = {};

    // ---- Linux only; elsewhere std::errc::not_supported.

    /// Further descriptors that the program inherits.
    std::vector<passed_descriptor> descriptors = {};
    /// From -20, the most urgent, to 19. Less than that of this process needs CAP_SYS_NICE.
    std::optional<int> nice = {};
    /// Each resource once. A hard limit above that of this process needs CAP_SYS_RESOURCE.
    std::vector<resource_limit> limits = {};
    /// Needs CAP_SETUID and CAP_SETGID. The directory is entered, and the program is executed, with
    /// the rights of that user.
    std::optional<program_user> user = {};
};

/// How a program has ended.
struct exit_status {
    int code = 0;              ///< returned from main, or passed to exit; 0 to 255, on Windows any
    int signal = 0;            ///< the signal that killed it; 0: ended by itself
    bool core_dumped = false;  ///< with signal

    [[nodiscard]] bool ok() const noexcept { return code == 0 && signal == 0; }

    /// "ended with status 1", "was killed by signal 9".
    [[nodiscard]] std::string to_string() const;

    friend bool operator==(const exit_status&, const exit_status&) = default;
};

namespace detail {
class child;
}

class process {
public:
    /// No process: pid() is 0.
    process() noexcept;

    /// Starts command[0], searched in PATH unless it contains a slash, with all of command as its
    /// arguments. Fails as exec does (std::errc::no_such_file_or_directory, permission_denied …),
    /// and with std::errc::invalid_argument for an empty command or a zero byte in a string.
    explicit process(const std::vector<std::string>& command, const process_options& options = {});
    process(const std::vector<std::string>& command, const process_options& options, std::error_code& ec);

    process(process&& other) noexcept;
    process& operator=(process&& other) noexcept;
    ~process();  // see above

    /// The process number. The system may reuse it once the process has ended and been waited for;
    /// send signals with kill().
    [[nodiscard]] int pid() const noexcept { return pid_; }

    /// The other ends of its pipes: closed unless options said stdio::pipe.
    [[nodiscard]] pipe_writer& in() noexcept { return in_; }

    [[nodiscard]] pipe_reader& out() noexcept { return out_; }

    [[nodiscard]] pipe_reader& err() noexcept { return err_; }

    /// Waits for the program's end. Later calls return the same result. A cancellation point;
    /// cancellation does not affect the program. A program that fills a pipe that no thread reads
    /// never ends.
    exit_status wait();
    exit_status wait(std::error_code& ec);

    /// With a timeout; returns nullopt if the program still runs.
    template <typename Rep, typename Period>
    [[nodiscard]] std::optional<exit_status> wait_for(std::chrono::duration<Rep, Period> timeout) {
        return wait_until_ns(detail::deadline_after(timeout));
    }

    template <typename Clock, typename Duration>
    [[nodiscard]] std::optional<exit_status> wait_until(std::chrono::time_point<Clock, Duration> deadline) {
        return wait_until_ns(detail::deadline_at(deadline));
    }

    /// Sends a signal. Returns false if the program has ended and its end is known; no signal is
    /// sent then.
    bool kill(int signal);
    bool kill(int signal, std::error_code& ec);

    /// Sends a signal to all processes of the group that the program leads: the program and what it
    /// has started. Works after its end and after wait(). Processes that have left the group, such
    /// as daemons, are not reached. Error: std::errc::invalid_argument if the program leads no
    /// group (see process_options::group).
    ///
    /// Until this object is destroyed or detached, the system keeps the number of a group leader,
    /// as that of a zombie in the group. So the result stays true even if no other process of the
    /// group is left: do not loop until it is false. To learn that all have ended, read an
    /// inherited pipe to its end. False: there is no program (pid() is 0), or the system finds no
    /// process of the group after another part of this program has taken the status, or with
    /// SIGCHLD ignored.
    bool kill_group(int signal);
    bool kill_group(int signal, std::error_code& ec);

    /// As the destructor: pid() is 0 afterwards.
    void detach() noexcept;

private:
    [[nodiscard]] std::optional<exit_status> wait_until_ns(int64_t deadline_ns);

    std::unique_ptr<detail::child> child_;
    int pid_ = 0;
    pipe_writer in_;
    pipe_reader out_;
    pipe_reader err_;
};

struct process_output {
    exit_status status;
    std::string out;  ///< its standard output
    std::string err;  ///< its standard error
};

/// Runs a command with input to its end, and until all holders of its output, such as programs it
/// has started, have closed it. Ignores options.in, out and err. Throws as process's constructor; a
/// status that is not ok() is not an error. If a scope or deadline around the caller interrupts it,
/// the program and its process group are killed. The program leads that group, unless options.group
/// is process_group::inherit; then only the program is killed. Takes three green threads.
[[nodiscard]] process_output run_process(const std::vector<std::string>& command,
                                         net::const_buffer input = {nullptr, 0},
                                         process_options options = {});

}  // namespace weft
