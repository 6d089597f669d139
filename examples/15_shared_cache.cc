// 15_shared_cache.cc: a cache that many green threads read, and initialization that happens once.
//
// - A shared_mutex admits several readers or one writer; std::shared_lock and std::lock_guard work
//   with it.
// - A single_flight combines concurrent calls for the same key into one. It stores no results: that
//   is the task of the cache.
// - A once_value is computed by the first caller while the others wait. After that, reading it
//   costs one load.
// - A timed_mutex has try_lock_for, which returns whether it got the lock in time.
//
// Prints:
//     settings read:                 1 time, by 100 green threads
//     pages fetched:                 3 times, for 100 requests
//     pages fetched a second time:   0 times
//     readers in together:           4, while a writer waits
//     the printer, after 5 ms:       busy
//     the printer, a moment later:   ours
#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>

#include <weft/weft.h>

using namespace std::chrono_literals;

namespace {

std::atomic<int> settings_read = 0;
std::atomic<int> pages_fetched = 0;

class page_cache {
public:
    std::string get(const std::string& name) {
        if (std::string page; find(name, page)) return page;
        return fetches_.do_(name, [&] {
            // Another fetch may have stored the page since the lookup above.
            if (std::string page; find(name, page)) return page;
            std::string page = fetch(name);
            const std::lock_guard write(lock_);
            pages_[name] = page;
            return page;
        });
    }

private:
    bool find(const std::string& name, std::string& page) {
        const std::shared_lock read(lock_);
        const auto at = pages_.find(name);
        if (at == pages_.end()) return false;
        page = at->second;
        return true;
    }

    std::string fetch(const std::string& name) {
        ++pages_fetched;
        weft::sleep_for(2ms);  // the network
        return server_() + '/' + name;
    }

    weft::once_value<std::string (*)()> server_{[] {
        ++settings_read;
        weft::sleep_for(1ms);  // the disk
        return std::string("server");
    }};
    weft::shared_mutex lock_;
    std::map<std::string, std::string> pages_;  // guarded by lock_
    weft::single_flight<std::string, std::string> fetches_;
};

void request(page_cache& cache, int times) {
    const std::string names[] = {"index", "about", "help"};
    weft::wait_group all;
    for (int i = 0; i < times; ++i) {
        all.go([&, i] {
            const std::string& name = names[i % 3];
            if (cache.get(name) != "server/" + name) std::puts("the wrong page");
        });
    }
    all.wait();
}

void read_together() {
    constexpr int readers = 4;
    weft::shared_mutex lock;
    std::atomic<int> inside = 0;
    const weft::chan<int> leave;
    weft::wait_group all;
    for (int i = 0; i < readers; ++i) {
        all.go([&] {
            const std::shared_lock read(lock);
            ++inside;
            leave.recv();
        });
    }
    while (inside != readers) weft::yield();
    all.go([&] { const std::lock_guard write(lock); });
    while (lock.try_lock_shared()) {  // fails once the writer waits: no more readers are admitted
        lock.unlock_shared();
        weft::yield();
    }
    std::printf("readers in together:           %d, while a writer waits\n", inside.load());
    leave.close();
    all.wait();
}

void wait_for_the_printer() {
    weft::timed_mutex printer;
    printer.lock();
    weft::async([&] {
        const bool ours = printer.try_lock_for(5ms);
        std::printf("the printer, after 5 ms:       %s\n", ours ? "ours" : "busy");
    }).get();
    printer.unlock();
    const std::unique_lock hold(printer, 5ms);
    std::printf("the printer, a moment later:   %s\n", hold ? "ours" : "busy");
}

}  // namespace

int main() {
    return weft::main([] {
        page_cache cache;
        request(cache, 100);
        std::printf("settings read:                 %d time, by 100 green threads\n", settings_read.load());
        std::printf("pages fetched:                 %d times, for 100 requests\n", pages_fetched.exchange(0));
        request(cache, 100);
        std::printf("pages fetched a second time:   %d times\n", pages_fetched.load());
        read_together();
        wait_for_the_printer();
    });
}
