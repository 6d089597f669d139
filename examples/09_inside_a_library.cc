// 09_inside_a_library.cc: green threads behind an ordinary interface.
//
// What one learns: a library need not own main(). A weft::runtime object is a scheduler with Ps and threads of its
// own; it runs while the object lives, and several may run at once. The class below looks to its users like any other
// thread-safe class: they call it from plain threads and get plain values back. run() starts a green thread and
// blocks the caller until it returns; drain() waits until every green thread has finished.
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

// ---- what the library's header would show ----

struct text_facts {
    std::size_t words = 0;
    std::size_t letters = 0;
};

class text_service {
public:
    text_service();
    ~text_service();

    // Any thread. Waits for the answer.
    text_facts examine(const std::string& text);

    // Any thread. Returns at once; flush() waits for what has been asked for so far.
    void index(std::string text);
    void flush();

    // Any thread.
    std::size_t texts() const;
    std::size_t words() const;

private:
    mutable weft::mutex lock_;
    std::size_t texts_ = 0;        // guarded by lock_
    std::set<std::string> words_;  // guarded by lock_
    weft::runtime runtime_;        // last: stopped first, so that no green thread outlives what it uses
};

// ---- what its source would hold ----

text_service::text_service() : runtime_({.procs = 2, .name = "text"}) {}

text_service::~text_service() { flush(); }

text_facts text_service::examine(const std::string& text) {
    return runtime_.run([&text] {
        // Green threads of the caller's runtime: go and async inside run() stay on it.
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

// ---- a program that knows nothing of green threads ----

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
