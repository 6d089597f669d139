// host.cc PLUG-IN...: opens plug-ins that use weft, runs them at the same time in its own threads,
// closes them, and opens them again.
//
// While they are closed, the code of every signal handler must still be loaded. In the last round
// the host's main thread runs them too. Only then does it have thread-locals of theirs.
#include <dlfcn.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr int expected = 338350;

struct plug_in {
    void* handle;
    int (*run)();
};

plug_in open_plug_in(const char* path) {
    plug_in made{dlopen(path, RTLD_NOW | RTLD_LOCAL), nullptr};
    if (made.handle != nullptr) made.run = reinterpret_cast<int (*)()>(dlsym(made.handle, "plug_in_run"));
    if (made.run == nullptr) {
        std::fprintf(stderr, "host: %s\n", dlerror());
        std::exit(1);
    }
    return made;
}

void expect_sum(int sum) {
    if (sum == expected) return;
    std::fprintf(stderr, "host: a plug-in returned %d\n", sum);
    std::exit(1);
}

void use(char** paths, int count, bool here) {
    std::vector<plug_in> plug_ins;
    for (int i = 0; i < count; ++i) plug_ins.push_back(open_plug_in(paths[i]));
    std::vector<std::thread> threads;
    for (const plug_in& p : plug_ins) threads.emplace_back([run = p.run] { expect_sum(run()); });
    for (std::thread& t : threads) t.join();
    if (here) {
        for (const plug_in& p : plug_ins) expect_sum(p.run());
    }
    for (const plug_in& p : plug_ins) {
        if (dlclose(p.handle) != 0) std::exit(1);
    }
}

void check_handlers() {
    for (int signal = 1; signal < NSIG; ++signal) {
        struct sigaction there = {};
        if (sigaction(signal, nullptr, &there) != 0 || there.sa_handler == SIG_DFL || there.sa_handler == SIG_IGN)
            continue;
        Dl_info module{};
        if (dladdr(reinterpret_cast<void*>(there.sa_handler), &module) != 0) continue;
        std::fprintf(stderr, "host: the handler of signal %d is not there any longer\n", signal);
        std::exit(1);
    }
}

}  // namespace

int main(int argc, char** argv) {
    constexpr int rounds = 10;
    for (int round = 1; round <= rounds; ++round) {
        use(argv + 1, argc - 1, round == rounds);
        check_handlers();
    }
    std::printf("the sum of the first hundred squares is %d\n", expected);
    return 0;
}
