// process.h: other programs: started, talked with, waited for.
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
// Starting makes a system call that takes until the program has begun, about a millisecond, for which the processor is given to others. Waiting
// parks: the system's descriptor of the process (pidfd) is in the poller, and its end is an event like any other. So there is neither a
// thread nor a SIGCHLD handler, and a signal never reaches another process that has got the number meanwhile.
//
// The program begins as from a shell: no signal is blocked, all have their default actions, no descriptors are inherited but 0, 1 and 2 and
// those that this program has made inheritable itself.
//
// A process object that is destroyed, or assigned to, leaves its program running, and closes the pipes to it; the library sees to it that it does
// not stay behind as a zombie. A program is ended by a call: kill(), or kill_group() together with all that it has started; then wait(). (A
// destructor that killed it would lose the work of a program that was to outlive its starter, such as a daemon; one that waited could wait for ever.)
//
// Other parts of the program may handle SIGCHLD. If one of them waits for any child, or the signal is ignored, the system may forget how a
// program has ended before it is asked: from Linux 6.15 on it tells nevertheless, however soon the program has ended, else wait() fails with
// std::errc::no_child_process.
//
// Each call that may fail has two forms: one throws std::system_error, the other fills a std::error_code.
//
// Who: any thread. Several may wait for one process at a time, and kill it; moving, assigning and destroying are for one thread, while nobody
//      else uses the object.
// See: docs/processes.md
#pragma once

#include <chrono>
#include <cstdint>
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

// What one of the three standard descriptors of a program is.
enum class stdio : uint8_t {
    inherit,  // that of this process
    null,     // nothing to read; what is written goes nowhere
    pipe,     // a pipe, whose other end the process object has
};

// Which process group a program begins in. The programs that it starts are in the same group, unless they leave it.
enum class process_group : uint8_t {
    inherit,  // that of this process
    own,  // a new one, which it leads: process::kill_group() reaches all of it. Keys of a terminal, such as Ctrl-C, do not
    own_session,  // a new session and group: it has no controlling terminal either
};

struct process_options {
    stdio in = stdio::inherit;
    stdio out = stdio::inherit;
    stdio err = stdio::inherit;
    // Where it begins; empty: where this process is. A command with a slash in it is looked for from there.
    std::string directory = {};
    // All of it, as "NAME=value"; nothing: that of this process.
    std::optional<std::vector<std::string>> environment = {};
    // Nothing: inherit for a process object, own for run_process().
    std::optional<process_group> group = {};
};

// How a program has ended.
struct exit_status {
    int code = 0;              // what it returned from main, or gave to exit; 0 to 255
    int signal = 0;            // what killed it; 0: it has ended by itself
    bool core_dumped = false;  // with signal

    [[nodiscard]] bool ok() const noexcept { return code == 0 && signal == 0; }

    // "ended with status 1", "was killed by signal 9".
    [[nodiscard]] std::string to_string() const;

    friend bool operator==(const exit_status&, const exit_status&) = default;
};

namespace detail {
class child;
}

class process {
public:
    // None: pid() is 0.
    process() noexcept;

    // Starts command[0], which is looked for in PATH unless there is a slash in it, with all of command as its arguments. Fails as exec does:
    // std::errc::no_such_file_or_directory, permission_denied …; or std::errc::invalid_argument: no command, or a zero byte in a string.
    explicit process(const std::vector<std::string>& command, const process_options& options = {});
    process(const std::vector<std::string>& command, const process_options& options, std::error_code& ec);

    process(process&& other) noexcept;
    process& operator=(process&& other) noexcept;
    ~process();  // see above

    // Its number. It is that of another process once this one has ended and been waited for: signals go by kill().
    [[nodiscard]] int pid() const noexcept { return pid_; }

    // The other ends of its pipes: closed unless options said stdio::pipe.
    [[nodiscard]] pipe_writer& in() noexcept { return in_; }

    [[nodiscard]] pipe_reader& out() noexcept { return out_; }

    [[nodiscard]] pipe_reader& err() noexcept { return err_; }

    // Waits for its end. May be called again: it returns the same. A cancellation point; the program does not notice. A program that fills a pipe
    // which nobody reads never ends.
    exit_status wait();
    exit_status wait(std::error_code& ec);

    // No longer than that; nothing: it still runs.
    template <typename Rep, typename Period>
    [[nodiscard]] std::optional<exit_status> wait_for(std::chrono::duration<Rep, Period> timeout) {
        return wait_until_ns(detail::deadline_after(timeout));
    }

    template <typename Clock, typename Duration>
    [[nodiscard]] std::optional<exit_status> wait_until(std::chrono::time_point<Clock, Duration> deadline) {
        return wait_until_ns(detail::deadline_at(deadline));
    }

    // Sends it a signal. False: it has ended, and somebody knows; the signal went nowhere.
    bool kill(int signal);
    bool kill(int signal, std::error_code& ec);

    // Sends a signal to all processes of the group that it leads: to it, and to what it has started. Also after it has ended, and after wait().
    // Processes that have left the group, such as daemons, are not reached. Error: std::errc::invalid_argument if it leads none (see
    // process_options::group).
    // Until this object is destroyed or detached, the system keeps the number of a program that leads a group, as that of a zombie, which is a
    // member of the group. So the result is true as long, also if no other process of the group is left: do not call it in a loop until it is
    // false. To learn that all have ended, read from a pipe that they have inherited to its end. False: there is no program (pid() is 0); or
    // another part of this program has taken its status, or SIGCHLD is ignored, and the system finds no process of the group.
    bool kill_group(int signal);
    bool kill_group(int signal, std::error_code& ec);

    // As the destructor: pid() is 0 afterwards.
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
    std::string out;  // what it has written to its standard output, and
    std::string err;  // … error
};

// Runs a command to its end, with input to read; and until all who have its output, such as programs that it has started, have closed it.
// options.in, out and err do not matter. Throws as process's constructor; an end that is not ok() is no error. If it is interrupted, by a
// scope or deadline around the caller, the program is killed, with all processes of its group: the program leads one, unless
// options.group is process_group::inherit, and then only the program is killed. It takes three green threads.
[[nodiscard]] process_output run_process(const std::vector<std::string>& command,
                                         net::const_buffer input = {nullptr, 0},
                                         process_options options = {});

}  // namespace weft
