// 31_profile.cc: profiles for pprof: which function computes, and what green threads wait for.
//
// needs: weft::observe
//
//   31_profile FOLDER     writes cpu.pb, goroutine.pb, sched.pb and block.pb there
//   go tool pprof -top FOLDER/cpu.pb
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>

#include <weft/observe/profile.h>
#include <weft/weft.h>

using namespace std::chrono_literals;

// Not inlined, so that they are in the profile under their own names.
[[gnu::noinline]] unsigned resize(unsigned picture) {
    for (int i = 0; i < 20'000'000; ++i) picture = picture * 1'664'525 + 1'013'904'223;
    return picture;
}

[[gnu::noinline]] unsigned describe(unsigned picture) {
    for (int i = 0; i < 2'000'000; ++i) picture = picture * 1'664'525 + 1'013'904'223;
    return picture;
}

void serve(const weft::chan<unsigned>& pictures, const weft::chan<unsigned>& results) {
    for (const unsigned picture : pictures) results.send(describe(resize(picture)));
}

int main(int argc, char** argv) {
    const bool keep = argc > 1;
    const std::filesystem::path folder =
        keep ? std::filesystem::path(argv[1]) : std::filesystem::temp_directory_path() / "weft_31_profile";
    std::filesystem::create_directories(folder);

    const int code = weft::main({.procs = 2}, [&] {
        const weft::observe::recorder recorder;
        weft::observe::cpu_profiler profiler;

        const weft::chan<unsigned> pictures;
        const weft::chan<unsigned> results;
        for (const char* size : {"small", "large"})
            weft::go({.name = "server", .labels = {{"size", size}}}, [&] { serve(pictures, results); });
        weft::go({.name = "source"}, [&] {
            for (unsigned picture = 0; picture < 40; ++picture) pictures.send(picture);
        });
        unsigned sum = 0;
        for (int i = 0; i < 40; ++i) sum += results.recv().value();
        std::printf("40 pictures: %08x\n", sum);

        profiler.stop().write(folder / "cpu.pb");
        weft::observe::goroutine_profile().write(folder / "goroutine.pb");  // two servers wait for pictures
        const weft::observe::recording last = recorder.snapshot();
        weft::observe::scheduling_profile(last).write(folder / "sched.pb");
        weft::observe::blocking_profile(last).write(folder / "block.pb");
        pictures.close();
    });

    for (const char* name : {"cpu.pb", "goroutine.pb", "sched.pb", "block.pb"})
        std::printf("%s has %s\n", name, std::filesystem::file_size(folder / name) > 500 ? "samples" : "nothing");
    if (!keep) std::filesystem::remove_all(folder);
    return code;
}
