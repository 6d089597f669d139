// server_process.h: a server of others, as a child process: started, killed, stopped and continued.
//
// The process is killed when the object is destroyed, and by the system if this process dies first.
#pragma once

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <string>
#include <system_error>
#include <vector>

namespace weft::test {

class server_process {
public:
    server_process() = default;
    server_process(const server_process&) = delete;
    server_process& operator=(const server_process&) = delete;

    ~server_process() { end(SIGKILL); }

    // Starts command[0], searched in PATH. Its output goes to the file log.
    void start(const std::vector<std::string>& command, const std::string& log) {
        std::vector<char*> argv;
        for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
        argv.push_back(nullptr);
        pid_ = ::fork();
        if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
        if (pid_ != 0) return;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
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
        pid_ = 0;
        return true;
    }

    // Sends a signal, for example SIGSTOP and SIGCONT.
    void signal(int number) const {
        if (pid_ > 0) ::kill(pid_, number);
    }

    // Sends a signal that ends it, and waits for the end.
    void end(int number) {
        if (pid_ <= 0) return;
        ::kill(pid_, number);
        ::kill(pid_, SIGCONT);
        ::waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }

private:
    pid_t pid_ = 0;
};

// Whether a program is in PATH.
[[nodiscard]] inline bool has_program(const std::string& name) {
    return ::system(("command -v " + name + " >/dev/null").c_str()) == 0;
}

}  // namespace weft::test
