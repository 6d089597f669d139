// process_memory.cc: the memory of a process: see memory.h.
//
// process_vm_readv() reads many places at once. Some containers forbid it, and allow /proc/PID/mem.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "observe/outside/memory.h"
#include "os/os.h"

namespace weft::observe::detail {

std::string target_memory::text(uint64_t at, std::size_t most) {
    constexpr std::size_t step = 256;
    std::string all;
    char part[step];
    while (all.size() < most) {
        // Not beyond a page, because the next one may be missing.
        const std::size_t wanted = std::min({step - (at + all.size()) % step, most - all.size()});
        const std::size_t got = read(at + all.size(), part, wanted);
        const auto* end = static_cast<const char*>(std::memchr(part, '\0', got));
        if (end != nullptr) return all.append(part, static_cast<std::size_t>(end - part));
        all.append(part, got);
        if (got < wanted) break;
    }
    return all;
}

namespace {

std::string in_proc(pid_t pid, const std::string& name) { return "/proc/" + std::to_string(pid) + "/" + name; }

class process_memory : public target_memory {
public:
    explicit process_memory(pid_t pid) {
        pid_ = pid;
        if (::access(in_proc(pid, "").c_str(), F_OK) != 0) {
            throw std::runtime_error("weft: there is no process " + std::to_string(pid));
        }
        file_ = ::open(in_proc(pid, "mem").c_str(), O_RDONLY | O_CLOEXEC);
        const int error = errno;
        read_files();
        if (file_ < 0 || files_.empty()) {
            throw std::runtime_error(
                "weft: cannot read process " + std::to_string(pid) + ": " + std::strerror(file_ < 0 ? error : EACCES) +
                "; it must be yours, and its memory readable: root may read it, or set kernel.yama.ptrace_scope to 0");
        }
        std::ifstream(in_proc(pid, "comm")) >> program_;
        char path[4096];
        const ssize_t size = ::readlink(in_proc(pid, "exe").c_str(), path, sizeof(path));
        if (size <= 0) return;
        executable_.assign(path, static_cast<std::size_t>(size));
        const std::string name = executable_.substr(0, executable_.find(" (deleted)"));
        program_ = name.substr(name.rfind('/') + 1);
    }

    ~process_memory() override {
        if (file_ >= 0) ::close(file_);
    }

    std::size_t read(uint64_t at, void* into, std::size_t size) override {
        piece one{at, into, size};
        read_each({&one, 1});
        return one.done;
    }

    void read_each(std::span<piece> pieces) override {
        for (std::size_t first = 0; first < pieces.size();) {
            const std::size_t count = std::min(pieces.size() - first, at_once);
            first += may_read_many_ ? read_many(pieces.subspan(first, count)) : read_one(pieces[first]);
        }
    }

    [[nodiscard]] bool is_core() const noexcept override { return false; }

    [[nodiscard]] std::string path_of(const mapped_file& file) const override {
        const std::string inside = in_proc(pid_, "root") + file.path;
        struct stat here{};
        struct stat there{};
        if (::stat(inside.c_str(), &there) == 0) {
            // Beside the plain path, separate debug files are found.
            const bool is_same =
                ::stat(file.path.c_str(), &here) == 0 && here.st_dev == there.st_dev && here.st_ino == there.st_ino;
            return is_same ? file.path : inside;
        }
        if (file.path == executable_) return in_proc(pid_, "exe");  // it was replaced since the program started
        char range[64];
        std::snprintf(range, sizeof(range), "map_files/%llx-%llx", static_cast<unsigned long long>(file.begin),
                      static_cast<unsigned long long>(file.end));
        const std::string mapped = in_proc(pid_, range);
        return ::access(mapped.c_str(), R_OK) == 0 ? mapped : "";
    }

    // Of a thread that sleeps or is stopped. The system does not say where a running one is.
    [[nodiscard]] thread_registers registers_of(pid_t tid) override {
        std::ifstream file(in_proc(pid_, "task/" + std::to_string(tid) + "/syscall"));
        std::vector<std::string> words;
        for (std::string word; file >> word;) words.push_back(word);
        if (words.size() < 3) return {};
        const auto number = [&](std::size_t i) { return std::strtoull(words[i].c_str(), nullptr, 16); };
        return {number(words.size() - 2), number(words.size() - 1), 0};
    }

    [[nodiscard]] int64_t now_ns() const override { return weft::detail::os::monotonic_ns(); }

    [[nodiscard]] uint64_t page_size() const override { return weft::detail::os::page_size(); }

    [[nodiscard]] std::string condition() const override {
        std::ifstream file(in_proc(pid_, "stat"));
        std::string text((std::istreambuf_iterator<char>(file)), {});
        const std::size_t at = text.rfind(") ");  // the name may contain anything
        switch (at == std::string::npos ? '?' : text[at + 2]) {
            case 'T':
                return "stopped";
            case 't':
                return "stopped by a debugger";
            case 'D':
                return "blocked in the system";
            default:
                return "running";
        }
    }

private:
    static constexpr std::size_t at_once = 512;

    // The whole file of mappings, in which a path may contain spaces.
    void read_files() {
        std::ifstream file(in_proc(pid_, "maps"));
        for (std::string line; std::getline(file, line);) {
            unsigned long long begin = 0;
            unsigned long long end = 0;
            unsigned long long offset = 0;
            int path_at = 0;
            // NOLINTNEXTLINE(cert-err34-c): the system's own form
            const int fields =
                std::sscanf(line.c_str(), "%llx-%llx %*s %llx %*s %*s %n", &begin, &end, &offset, &path_at);
            if (fields != 3 || path_at == 0 || line[static_cast<std::size_t>(path_at)] != '/') continue;
            files_.push_back({begin, end, offset, line.substr(static_cast<std::size_t>(path_at))});
        }
    }

    // Returns how many of the pieces were settled: all up to the first that cannot be read as a
    // whole, and that one.
    std::size_t read_many(std::span<piece> pieces) {
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            here_[i] = {pieces[i].into, pieces[i].size};
            there_[i] = {reinterpret_cast<void*>(pieces[i].at), pieces[i].size};
        }
        const ssize_t got = ::process_vm_readv(pid_, here_, pieces.size(), there_, pieces.size(), 0);
        if (got < 0 && errno != EFAULT) {
            may_read_many_ = false;
            return 0;
        }
        std::size_t left = got < 0 ? 0 : static_cast<std::size_t>(got);
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            pieces[i].done = std::min(left, pieces[i].size);
            left -= pieces[i].done;
            if (pieces[i].done == pieces[i].size) continue;
            return i + read_one(pieces[i]);  // the rest of its page, which the call above may leave out
        }
        return pieces.size();
    }

    std::size_t read_one(piece& p) const {
        p.done = 0;
        while (p.done < p.size) {
            const ssize_t got =
                ::pread(file_, static_cast<char*>(p.into) + p.done, p.size - p.done, static_cast<off_t>(p.at + p.done));
            if (got <= 0) break;
            p.done += static_cast<std::size_t>(got);
        }
        return 1;
    }

    int file_ = -1;
    bool may_read_many_ = true;
    iovec here_[at_once] = {};
    iovec there_[at_once] = {};
    std::string executable_;
};

}  // namespace

std::unique_ptr<target_memory> open_process(pid_t pid) { return std::make_unique<process_memory>(pid); }

}  // namespace weft::observe::detail
