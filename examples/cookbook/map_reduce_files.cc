// map_reduce_files.cc: counts the words of all files of a directory, four files at a time.
// See: docs/cookbook/map_reduce_files.md
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include <weft/fs.h>
#include <weft/weft.h>

namespace {

using counts = std::map<std::string, int>;

// Map: one file.
counts count_words(const std::string& path) {
    counts words;
    std::istringstream text(weft::fs::read_file(path));
    for (std::string word; text >> word;) ++words[word];
    return words;
}

counts count_words_below(const std::string& directory) {
    const weft::chan<std::string> paths(16);
    const weft::chan<counts> counted(16);
    return weft::scope([&](weft::task_scope& s) {
        s.go({.name = "list"}, [&] {
            for (const weft::fs::directory_entry& e : weft::fs::read_directory(directory)) {
                if (e.type == weft::fs::file_type::regular) paths.send(directory + '/' + e.name);
            }
            paths.close();
        });
        s.go({.name = "map"}, [&] {
            weft::scope([&](weft::task_scope& readers) {
                for (int i = 0; i < 4; ++i) {
                    readers.go([&] {
                        for (const std::string& path : paths) counted.send(count_words(path));
                    });
                }
            });
            counted.close();
        });
        // Reduce.
        counts total;
        for (const counts& of_one : counted) {
            for (const auto& [word, n] : of_one) total[word] += n;
        }
        return total;
    });
}

// A directory with ten files.
class sample {
public:
    sample() : path_(std::filesystem::temp_directory_path() / ("map_reduce_" + std::to_string(::getpid()))) {
        weft::fs::mkdir(path_);
        for (int i = 0; i < 10; ++i) {
            weft::fs::write_file(path_ + "/" + std::to_string(i) + ".txt", "one fish two fish\nred fish\n");
        }
    }

    sample(const sample&) = delete;
    sample& operator=(const sample&) = delete;

    ~sample() { std::filesystem::remove_all(path_); }

    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

}  // namespace

int main() {
    return weft::main([] {
        const sample files;
        for (const auto& [word, n] : count_words_below(files.path())) std::printf("%s: %d\n", word.c_str(), n);
    });
}
