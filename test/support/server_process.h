// server_process.h: a server of others, as a child process: started, killed, stopped and continued.
//
// The process is killed when the object is destroyed. If this process dies first, a watcher kills
// it: a process that was forked when this program started, and that sees the end of a pipe. (The
// system's own means, PR_SET_PDEATHSIG, depends on the thread that forks, which may end earlier.)
#pragma once

#include <fcntl.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <string>
#include <system_error>
#include <vector>

namespace weft::test {

// The watcher. Knows the processes that are to end with this one.
class end_watch {
public:
    end_watch() {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) return;
        const pid_t watcher = ::fork();
        if (watcher == 0) watch(ends[0], ends[1]);
        ::close(ends[0]);
        to_ = ends[1];
    }

    // pid: it has started; -pid: it has ended.
    void tell(pid_t pid) const {
        if (::write(to_, &pid, sizeof pid) != sizeof pid)
            throw std::system_error(errno, std::generic_category(), "watcher");
    }

private:
    [[noreturn]] static void watch(int from, int other_end) {
        ::close(other_end);
        ::setpgid(0, 0);  // a Ctrl-C is for the test
        std::vector<pid_t> alive;
        for (pid_t pid = 0; ::read(from, &pid, sizeof pid) == sizeof pid;) {
            if (pid > 0) {
                alive.push_back(pid);
            } else {
                std::erase(alive, -pid);
            }
        }
        for (const pid_t pid : alive) ::kill(-pid, SIGKILL);
        ::_exit(0);
    }

    int to_ = -1;
};

inline const end_watch the_end_watch;

class server_process {
public:
    server_process() = default;
    server_process(const server_process&) = delete;
    server_process& operator=(const server_process&) = delete;

    ~server_process() { end(SIGKILL); }

    // Starts command[0], searched in PATH, as that user if there is a name: some servers refuse to
    // run as root. Its output goes to the file log.
    void start(const std::vector<std::string>& command, const std::string& log, const std::string& user = {}) {
        const passwd* const as = user.empty() ? nullptr : ::getpwnam(user.c_str());
        std::vector<char*> argv;
        for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
        argv.push_back(nullptr);
        pid_ = ::fork();
        if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
        if (pid_ != 0) {
            the_end_watch.tell(pid_);
            return;
        }
        if (as != nullptr && (::setgid(as->pw_gid) != 0 || ::setuid(as->pw_uid) != 0)) ::_exit(126);
        ::setpgid(0, 0);
        const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
        ::dup2(out, STDOUT_FILENO);
        ::dup2(out, STDERR_FILENO);
        ::execvp(argv[0], argv.data());
        ::_exit(127);
    }

    // Whether it has ended by itself.
    [[nodiscard]] bool has_ended() {
        if (pid_ <= 0 || ::waitpid(pid_, nullptr, WNOHANG) != pid_) return pid_ <= 0;
        forget();
        return true;
    }

    // Sends a signal, for example SIGCONT.
    void signal(int number) const {
        if (pid_ > 0) ::kill(pid_, number);
    }

    // Stops it, and waits until all its threads have stopped: on a busy machine they run on for a
    // while after the signal was sent.
    void stop() const {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGSTOP);
        siginfo_t seen{};
        while (::waitid(P_PID, static_cast<id_t>(pid_), &seen, WSTOPPED) != 0 && errno == EINTR) {}
    }

    // Waits until it ends by itself. Returns its status as waitpid() has it.
    int wait() {
        int status = 0;
        ::waitpid(pid_, &status, 0);
        forget();
        return status;
    }

    // Sends a signal that ends it, and waits for the end.
    void end(int number) {
        if (pid_ <= 0) return;
        ::kill(pid_, number);
        ::kill(pid_, SIGCONT);
        ::waitpid(pid_, nullptr, 0);
        forget();
    }

private:
    void forget() {
        the_end_watch.tell(-pid_);
        pid_ = 0;
    }

    pid_t pid_ = 0;
};

// Whether a program is in PATH.
[[nodiscard]] inline bool has_program(const std::string& name) {
    return ::system(("command -v " + name + " >/dev/null").c_str()) == 0;
}

}  // namespace weft::test
