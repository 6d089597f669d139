// processes_posix.cc: see processes.h.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>
#include <vector>

#include "sim/processes.h"

namespace weft::sim {

namespace {

using clock = std::chrono::steady_clock;

// Within this time after the first failure, the others end by themselves.
constexpr auto patience = std::chrono::seconds(2);

[[noreturn]] void throw_errno(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

class shared_page {
public:
    shared_page() {
        void* at = ::mmap(nullptr, sizeof(progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) throw_errno("weft::sim: memory for several processes");
        all_ = ::new (at) progress;
    }

    ~shared_page() { ::munmap(all_, sizeof(progress)); }

    shared_page(const shared_page&) = delete;
    shared_page& operator=(const shared_page&) = delete;

    progress* operator->() const noexcept { return all_; }

    progress& operator*() const noexcept { return *all_; }

private:
    progress* all_;
};

// F or L, the schedule, a line's end, the reason. Nothing: all have passed.
std::string to_text(const finding& f) {
    return f.empty() ? std::string() : (f.failed ? "F" : "L") + f.schedule + "\n" + f.reason;
}

finding to_finding(const std::string& text) {
    const std::size_t end = text.find('\n');
    if (end == std::string::npos || end == 0) return {};
    return {text[0] == 'F', text.substr(1, end - 1), text.substr(end + 1)};
}

// The end of a child's text: it has not died before.
constexpr char complete = '\0';

void write_all(int fd, std::string text) {
    text += complete;
    for (std::size_t at = 0; at < text.size();) {
        const ssize_t n = ::write(fd, text.data() + at, text.size() - at);
        if (n > 0) at += static_cast<std::size_t>(n);
        if (n < 0 && errno != EINTR) return;
    }
}

struct child {
    pid_t pid = -1;
    int from = -1;  // its end of file: it has ended
    std::string said;
};

class children {
public:
    children() = default;

    // What those that are left may find is not needed.
    ~children() {
        for (child& c : all_) end(c, SIGKILL);
    }

    children(const children&) = delete;
    children& operator=(const children&) = delete;

    void start(unsigned i, progress& shared, const std::function<finding(unsigned, progress&)>& work) {
        int ends[2];
        if (::pipe(ends) != 0) throw_errno("weft::sim: a pipe for another process");
        static_cast<void>(::fcntl(ends[0], F_SETFD, FD_CLOEXEC));
        static_cast<void>(::fcntl(ends[1], F_SETFD, FD_CLOEXEC));
        const pid_t pid = ::fork();
        if (pid < 0) {
            const int error = errno;
            ::close(ends[0]);
            ::close(ends[1]);
            errno = error;
            throw_errno("weft::sim: another process");
        }
        if (pid == 0) {
            ::close(ends[0]);
            for (const child& other : all_) ::close(other.from);
            // What the program has registered for its end is not for children.
            try {
                write_all(ends[1], to_text(work(i, shared)));
            } catch (const std::exception& e) {
                write_all(ends[1], to_text({true, "", e.what()}));
            }
            ::_exit(0);
        }
        ::close(ends[1]);
        all_.push_back({pid, ends[0], {}});
    }

    // Waits until a child has written or ended, or until then. Returns whether any is left.
    bool listen(clock::time_point until) {
        std::vector<pollfd> ready;
        for (const child& c : all_) {
            if (c.from >= 0) ready.push_back({c.from, POLLIN, 0});
        }
        if (ready.empty()) return false;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now()).count();
        const int timeout_ms = until == clock::time_point::max() ? -1 : static_cast<int>(left < 0 ? 0 : left);
        if (::poll(ready.data(), static_cast<nfds_t>(ready.size()), timeout_ms) <= 0) return true;
        for (const pollfd& one : ready) {
            if (one.revents == 0) continue;
            for (child& c : all_) {
                if (c.from == one.fd) hear(c);
            }
        }
        return true;
    }

    // Of the children that have ended since.
    void collect(search_result& r) {
        for (child& c : all_) {
            if (c.from >= 0 || c.pid < 0) continue;
            const int status = end(c, 0);
            if (!c.said.empty() && c.said.back() == complete) {
                c.said.pop_back();
                finding f = to_finding(c.said);
                if (r.found.empty() || (f.failed && !r.found.failed)) r.found = std::move(f);
            } else if (r.death.empty()) {
                r.death = WIFSIGNALED(status)
                              ? "was ended by signal " + std::to_string(WTERMSIG(status))
                              : "ended with status " + std::to_string(WEXITSTATUS(status)) + " before its search did";
            }
        }
    }

private:
    static void hear(child& c) {
        char text[4096];
        const ssize_t n = ::read(c.from, text, sizeof(text));
        if (n > 0) {
            c.said.append(text, static_cast<std::size_t>(n));
        } else if (n == 0 || errno != EINTR) {
            ::close(c.from);
            c.from = -1;
        }
    }

    // Returns the status.
    static int end(child& c, int signal) noexcept {
        int status = 0;
        if (c.from >= 0) ::close(c.from);
        if (c.pid >= 0) {
            if (signal != 0) ::kill(c.pid, signal);
            while (::waitpid(c.pid, &status, 0) < 0 && errno == EINTR) {}
        }
        c.from = c.pid = -1;
        return status;
    }

    std::vector<child> all_;
};

}  // namespace

search_result search_in_processes(unsigned n, const std::function<finding(unsigned i, progress& shared)>& work) {
    const shared_page shared;
    search_result r;
    std::fflush(nullptr);  // else children write it again
    {
        children all;
        for (unsigned i = 0; i < n; ++i) all.start(i, *shared, work);
        auto until = clock::time_point::max();
        while (clock::now() < until && all.listen(until)) {
            all.collect(r);
            if ((r.found.failed || !r.death.empty()) && !shared->stop.exchange(true)) until = clock::now() + patience;
        }
        all.collect(r);
    }
    r.schedules = shared->schedules.load();
    r.steps = shared->steps.load();
    return r;
}

}  // namespace weft::sim
