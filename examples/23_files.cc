// 23_files: many green threads read and write files at the same time, without holding up each
// other. Prints how many lines were counted, what was read from a FIFO and a file, and an error.
//
//   23_files           makes a folder of its own, and removes it
//   23_files FOLDER    counts the lines of the files in FOLDER
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <weft/fs.h>
#include <weft/weft.h>

namespace fs = weft::fs;

// One green thread per file. Data in the page cache is read at once; while one waits for the disk,
// the others run.
long count_lines(const std::string& folder) {
    std::atomic<long> lines = 0;
    weft::scope([&](auto& s) {
        for (const fs::directory_entry& entry : fs::read_directory(folder)) {
            s.go([&, path = folder + '/' + entry.name] {
                const std::string text = fs::read_file(path);
                lines += std::count(text.begin(), text.end(), '\n');
            });
        }
    });
    return lines;
}

// Many green threads write into one file, each at its own offset.
void write_table(const std::string& path) {
    fs::file table(path, {.mode = fs::access::read_write, .create = true});
    weft::scope([&](auto& s) {
        for (int i = 0; i < 26; ++i) {
            s.go([&, i] {
                const std::string row = std::string(9, static_cast<char>('a' + i)) + '\n';
                table.pwrite(row, static_cast<int64_t>(row.size()) * i);
            });
        }
    });
    table.sync();  // before this, a power failure could lose the data
}

// A FIFO is waited for like a socket. A read parks only the green thread until another process
// writes, and a deadline ends the wait.
void read_commands(const std::string& path) {
    if (::mkfifo(path.c_str(), 0600) != 0) return;
    weft::scope([&](auto& s) {
        s.go([&] { fs::write_file(path, "reload\n"); });
        std::printf("command: %s", fs::read_file(path).c_str());
    });
    try {
        weft::with_timeout(std::chrono::milliseconds(20), [&] { static_cast<void>(fs::read_file(path)); });
    } catch (const weft::timed_out&) {
        std::printf("no more commands\n");
    }
}

int main(int argc, char** argv) {
    return weft::main([=] {
        if (argc > 1) {
            std::printf("%ld lines\n", count_lines(argv[1]));
            return;
        }
        const char* temporary = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): nobody sets it
        const std::string folder = std::string(temporary != nullptr ? temporary : "/tmp") + "/weft_23_files";
        fs::mkdir(folder);
        write_table(folder + "/table");
        for (int i = 0; i < 10; ++i) fs::write_file(folder + "/small" + std::to_string(i), "one\ntwo\n");
        std::printf("%ld lines\n", count_lines(folder));

        read_commands(folder + "/commands");

        char last[10];
        static_cast<void>(fs::file(folder + "/table").pread(last, 250));
        std::printf("the last row: %.9s\n", last);

        try {
            static_cast<void>(fs::read_file("no such file"));
        } catch (const std::system_error& e) {
            std::printf("%s\n", e.what());
        }
        for (const fs::directory_entry& entry : fs::read_directory(folder)) fs::unlink(folder + '/' + entry.name);
        fs::rmdir(folder);
    });
}
