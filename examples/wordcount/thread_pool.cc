// thread_pool.cc: counts with one std::thread per core, in the usual way.
//
// The calling thread walks the tree and puts path names into a bounded queue. Each worker takes a
// name, reads the file and counts its words in its own tables. When these are large, it merges them
// into the common tables, which have one lock per part.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ways.h"

namespace wordcount {

namespace {

// A bounded queue, which is closed when no more names will come.
class path_queue {
public:
    void push(std::string path) {
        std::unique_lock lock(mutex_);
        not_full_.wait(lock, [this] { return paths_.size() < capacity; });
        paths_.push_back(std::move(path));
        not_empty_.notify_one();
    }

    // Returns the oldest name; nullopt when the queue is closed and empty.
    std::optional<std::string> pop() {
        std::unique_lock lock(mutex_);
        not_empty_.wait(lock, [this] { return !paths_.empty() || closed_; });
        if (paths_.empty()) return std::nullopt;
        std::string path = std::move(paths_.front());
        paths_.pop_front();
        not_full_.notify_one();
        return path;
    }

    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        not_empty_.notify_all();
    }

private:
    static constexpr std::size_t capacity = 256;

    std::mutex mutex_;
    std::condition_variable not_full_;
    std::condition_variable not_empty_;
    std::deque<std::string> paths_;  // guarded by mutex_
    bool closed_ = false;            // guarded by mutex_
};

// The common tables, with one lock per part.
class merged_words {
public:
    explicit merged_words(std::size_t parts) : tables_(parts), locks_(parts) {}

    // Merges each table that has more than most words, and replaces it by an empty one.
    void take(std::vector<word_table>& tables, std::size_t most) {
        for (std::size_t i = 0; i < tables.size(); ++i) {
            if (tables[i].size() <= most) continue;
            const std::lock_guard lock(locks_[i]);
            tables_[i].add_all(tables[i]);
            tables[i] = word_table();
        }
    }

    std::vector<word_table>& tables() { return tables_; }

private:
    std::vector<word_table> tables_;
    std::vector<std::mutex> locks_;
};

void work(path_queue& paths, merged_words& words, result& mine, progress& shown) {
    text_counter counter(words.tables().size());
    std::vector<char> buffer(block_size);
    while (std::optional<std::string> path = paths.pop()) {
        input_file file(std::move(*path), mine.seen);
        while (const std::size_t size = file.read(buffer.data(), buffer.size())) {
            counter.feed({buffer.data(), size});
            words.take(counter.tables(), table_full);
            shown.add_bytes(size);
        }
        counter.end_file();
        shown.add_file();
    }
    words.take(counter.tables(), 0);
    mine.text = counter.totals();
}

}  // namespace

result count_with_threads(const settings& how, progress& shown) {
    path_queue paths;
    merged_words words(parts_for(how.workers));
    std::vector<result> partial(how.workers);
    std::vector<std::thread> workers;
    workers.reserve(partial.size());
    for (result& mine : partial) {
        workers.emplace_back([&] { work(paths, words, mine, shown); });
    }

    result total;
    walk(how.root, total.seen, [&paths](std::string path) { paths.push(std::move(path)); });
    paths.close();

    for (std::thread& worker : workers) worker.join();
    for (const result& part : partial) {
        total.seen.add(part.seen);
        total.text.add(part.text);
    }
    total.words = std::move(words.tables());
    return total;
}

}  // namespace wordcount
