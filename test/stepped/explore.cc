// explore.cc: see stepped.h.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include <gtest/gtest.h>

#include "stepped.h"
#include "turns.h"

namespace stepped {

namespace {

constexpr unsigned real_seconds = 60;  // of a schedule, at most
constexpr int failed_check = 4;

uint64_t number_from(const char* name, uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// On one CPU a turn is passed sooner.
void stay_on_this_cpu() {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

void report_signal(int) { fail("a signal has ended it"); }

[[noreturn]] void run_one(uint64_t seed, const options& how, const std::function<void()>& body, int out) {
    dup2(out, STDERR_FILENO);
    dup2(out, STDOUT_FILENO);
    alarm(real_seconds);
    // The runtime has a handler of its own for faults, which ends in abort().
    ::signal(SIGABRT, report_signal);
    stay_on_this_cpu();
    begin_turns(seed, how.most_steps, how.most_ns, how.spurious);
    try {
        body();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "exception: %s\n", e.what());
        fail("an exception has left the body");
    }
    std::fflush(nullptr);
    if (testing::Test::HasFailure()) _exit(failed_check);
    const uint64_t steps = steps_so_far();
    if (write(out, &steps, sizeof(steps)) != sizeof(steps)) _exit(failed_check);
    _exit(0);
}

std::string read_all(int fd) {
    std::string text;
    char part[4096];
    for (ssize_t n = 0; (n = pread(fd, part, sizeof(part), static_cast<off_t>(text.size()))) > 0;) {
        text.append(part, static_cast<size_t>(n));
    }
    return text;
}

std::string end_of(int status) {
    if (!WIFSIGNALED(status)) return "";
    if (WTERMSIG(status) == SIGALRM) return "it did not end in 60 s: a thread waits in the system\n";
    return "ended by signal " + std::to_string(WTERMSIG(status)) + "\n";
}

// Lines "step THREAD FILE ADDRESS" of turns.cc become functions and lines; those of one thread that
// follow each other are counted.
std::string with_places(const std::string& text) {
    std::string result;
    std::string before;
    size_t at = 0;
    while (at < text.size()) {
        const size_t end = std::min(text.find('\n', at), text.size());
        const std::string line = text.substr(at, end - at);
        at = end + 1;
        char file[512];
        unsigned thread = 0;
        unsigned long address = 0;
        if (std::sscanf(line.c_str(), "step %u %511s %lx", &thread, file, &address) != 3) {
            result += line + "\n";
            continue;
        }
        char command[640];
        std::snprintf(command, sizeof(command), "addr2line -Cfispe %s %lx", file, address);
        std::string place;
        if (FILE* out = popen(command, "r"); out != nullptr) {
            char part[1024];
            while (std::fgets(part, sizeof(part), out) != nullptr) {
                const bool is_ours = std::strstr(part, "stepped_atomic.h:") != nullptr;
                if (place.empty() && !is_ours) place = part;
            }
            pclose(out);
        }
        if (place.rfind(" (inlined by) ", 0) == 0) place.erase(0, 14);
        const std::string now = "  " + std::to_string(thread) + "  " + place;
        if (now != before) result += now;
        before = now;
    }
    return result;
}

}  // namespace

int64_t now_ns() noexcept { return virtual_ns(); }

void compute(int64_t ns) noexcept { compute_for(ns); }

unsigned choose(unsigned n) noexcept { return random_below(n); }

result explore(const options& how, const std::function<void()>& body) {
    result all;
    const uint64_t only = number_from("WEFT_STEPPED_SEED", 0);
    const uint64_t first = only != 0 ? only : number_from("WEFT_STEPPED_FIRST", 1);
    const uint64_t count = only != 0 ? 1 : number_from("WEFT_STEPPED_SCHEDULES", how.schedules);
    std::fflush(nullptr);
    for (uint64_t seed = first; seed != first + count; ++seed) {
        const int out = memfd_create("stepped", 0);
        const pid_t child = fork();
        if (child == 0) run_one(seed, how, body, out);
        int status = 0;
        waitpid(child, &status, 0);
        std::string text = read_all(out);
        close(out);
        ++all.schedules;
        if (status == 0 && text.size() >= sizeof(uint64_t)) {
            uint64_t steps = 0;
            text.copy(reinterpret_cast<char*>(&steps), sizeof(steps), text.size() - sizeof(steps));
            all.steps += steps;
            continue;
        }
        all.failing_seed = seed;
        all.report = "WEFT_STEPPED_SEED=" + std::to_string(seed) + "\n" + end_of(status) + with_places(text);
        break;
    }
    return all;
}

result explore(const std::function<void()>& body) { return explore({}, body); }

struct thread::state {
    pthread_t id{};
    std::function<void()> body;
};

thread::thread(std::function<void()> body) : state_(new state{.id = {}, .body = std::move(body)}) {
    const int error = pthread_create(
        &state_->id, nullptr,
        [](void* s) -> void* {
            static_cast<state*>(s)->body();
            return nullptr;
        },
        state_.get());
    if (error != 0) fail("a thread could not be started");
}

thread::~thread() { pthread_join(state_->id, nullptr); }

}  // namespace stepped
