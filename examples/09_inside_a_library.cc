// 09_inside_a_library.cc: a library that uses green threads behind an ordinary interface.
//
// A library need not own main(). A weft::runtime object is a scheduler with its own Ps and OS
// threads. It runs while the object exists; a process may have several. Users of the class below
// see an ordinary thread-safe class: they call it from plain threads and get plain values. run()
// starts a green thread and blocks the caller until that returns. drain() waits until all green
// threads have finished.
//
// Prints:
//     "the quick brown fox" has 4 words, 16 letters
//     "jumps over" has 2 words, 9 letters
//     indexed in the background: 2 texts, 6 words
#include <cctype>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include <weft/runtime.h>
#include <weft/weft.h>

// ---- The header of the library.

struct text_facts {
    std::size_t words = 0;
    std::size_t letters = 0;
};

class text_service {
public:
    text_service();
    ~text_service();

    // Waits for the answer. Any thread.
    text_facts examine(const std::string& text);

    // Returns at once; flush() waits for all earlier calls. Any thread.
    void index(std::string text);
    void flush();

    // Any thread.
    std::size_t texts() const;
    std::size_t words() const;

private:
    mutable weft::mutex lock_;
    std::size_t texts_ = 0;        // guarded by lock_
    std::set<std::string> words_;  // guarded by lock_
    weft::runtime runtime_;        // last: stopped first, so that no green thread uses destroyed members
};

// ---- The source of the library.

text_service::text_service() : runtime_({.procs = 2, .name = "text"}) {}

text_service::~text_service() { flush(); }

text_facts text_service::examine(const std::string& text) {
    return runtime_.run([&text] {
        // This runs on a green thread of the library's runtime. A call of go or async here starts
        // green threads in the same runtime.
        weft::future<std::size_t> letters = weft::async([&text] {
            std::size_t count = 0;
            for (const char c : text) count += std::isalpha(static_cast<unsigned char>(c)) != 0 ? 1U : 0U;
            return count;
        });
        text_facts facts;
        std::istringstream stream(text);
        for (std::string word; stream >> word;) ++facts.words;
        facts.letters = letters.get();
        return facts;
    });
}

void text_service::index(std::string text) {
    runtime_.go([this, text = std::move(text)] {
        std::istringstream stream(text);
        const std::lock_guard lock(lock_);
        ++texts_;
        for (std::string word; stream >> word;) words_.insert(word);
    });
}

void text_service::flush() { runtime_.drain(); }

std::size_t text_service::texts() const {
    const std::lock_guard lock(lock_);
    return texts_;
}

std::size_t text_service::words() const {
    const std::lock_guard lock(lock_);
    return words_.size();
}

// ---- A program that uses the library and does not know about green threads.

int main() {
    text_service service;
    for (const std::string text : {"the quick brown fox", "jumps over"}) {
        const text_facts facts = service.examine(text);
        std::printf("\"%s\" has %zu words, %zu letters\n", text.c_str(), facts.words, facts.letters);
        service.index(text);
    }
    service.flush();
    std::printf("indexed in the background: %zu texts, %zu words\n", service.texts(), service.words());
    return 0;
}
